"""The evidence that leaves with a release: verifier, proof, card, review, registry entry."""
