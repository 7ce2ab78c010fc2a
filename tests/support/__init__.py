"""What tests share: helpers, pretended workers, and workers that run inside real stacks."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
CHECKOUT = SUPPORT.parent.parent
