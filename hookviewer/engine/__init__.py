"""The headless core: torch only, never Qt."""
