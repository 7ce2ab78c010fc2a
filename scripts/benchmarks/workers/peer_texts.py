"""Text classifiers without a network: python peer_texts.py WAY DATA SEED

WAY is ``svm``: TF-IDF of words, pairs and parts of words, and a linear SVM; ``regression``: TF-IDF of words and
pairs, and a logistic regression; ``ratios``: one to three words, weighted by their log-count ratios of two classes
(Wang and Manning 2012, https://aclanthology.org/P12-2018), and a linear SVM; or ``fasttext``. DATA is a folder with
train.csv and test.csv (columns text, category), or the archive of aclImdb. Writes JSON: ``accuracy`` on the
test texts.
"""

import csv
import json
import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

Texts = tuple[list[str], list[str]]


def load(path: Path) -> tuple[Texts, Texts]:
    """Return texts and labels of training and test."""
    parts: dict[str, Texts] = {"train": ([], []), "test": ([], [])}
    if path.is_dir():
        for name, (texts, labels) in parts.items():
            with (path / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    texts.append(row["text"])
                    labels.append(row["category"])
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                match = re.search(r"(train|test)/(pos|neg)/[^/]+\.txt$", member.name)
                content = archive.extractfile(member) if match else None
                if match and content:
                    parts[match[1]][0].append(content.read().decode("utf-8").replace("<br />", " "))
                    parts[match[1]][1].append(match[2])
    return parts["train"], parts["test"]


def tfidf(**settings: Any) -> Any:
    """Return TF-IDF with sublinear counts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **settings)


def svm(train: Texts, test: Texts) -> float:
    """Fit a linear SVM to words, pairs and sequences of two to five characters within words."""
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    characters = tfidf(analyzer="char_wb", ngram_range=(2, 5), min_df=2)
    model = make_pipeline(make_union(tfidf(ngram_range=(1, 2)), characters), LinearSVC(C=0.5))
    return float(model.fit(*train).score(*test))


def regression(train: Texts, test: Texts) -> float:
    """Fit a logistic regression to words and pairs that occur in two texts."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(tfidf(ngram_range=(1, 2), min_df=2), LogisticRegression(C=10, solver="liblinear", dual=True))
    return float(model.fit(*train).score(*test))


def ratios(train: Texts, test: Texts) -> float:
    """Fit a linear SVM to the presence of one to three words, times their log-count ratios."""
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.svm import LinearSVC

    settings = {"token_pattern": r"\w+|[!?]", "dtype": np.float32}
    counts = CountVectorizer(ngram_range=(1, 3), min_df=2, binary=True, **settings)
    x, x_test = counts.fit_transform(train[0]), counts.transform(test[0])
    positive = np.array(train[1]) == "pos"
    shares = [1 + np.asarray(x[rows].sum(0)).ravel() for rows in (positive, ~positive)]
    ratio = np.log(shares[0] / shares[0].sum()) - np.log(shares[1] / shares[1].sum())
    weights = sparse.diags_array(ratio.astype(np.float32))
    model = LinearSVC(C=0.01).fit(x @ weights, positive)
    return float(model.score(x_test @ weights, np.array(test[1]) == "pos"))


def fasttext(train: Texts, test: Texts, seed: int) -> float:
    """Train fastText with pairs of words on all cores."""
    import fasttext as library  # type: ignore[import-not-found, unused-ignore]

    def words(text: str) -> str:
        return " ".join(re.findall(r"\w+|[!?.,']", text.lower()))

    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"__label__{label} {words(text)}\n" for text, label in zip(*train, strict=True))
        file.flush()
        sizes = {"wordNgrams": 2, "dim": 50, "bucket": 500_000, "lr": 0.5}
        epochs = 5 if len(train[0]) > 20_000 else 25
        model = library.train_supervised(file.name, epoch=epochs, verbose=0, seed=seed, **sizes)
    predicted = model.predict([words(text) for text in test[0]])[0]
    return float(np.mean([row[0] == f"__label__{label}" for row, label in zip(predicted, test[1], strict=True)]))


def main(way: str, data: str, seed: int) -> None:
    """Read, train, test."""
    train, test = load(Path(data))
    if way == "fasttext":
        accuracy = fasttext(train, test, seed)
    else:
        accuracy = {"svm": svm, "regression": regression, "ratios": ratios}[way](train, test)
    print(json.dumps({"accuracy": accuracy}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
