"""Train text classifiers and language models; predict and generate text."""
