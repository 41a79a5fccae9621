"""Strings into token ids and back."""
