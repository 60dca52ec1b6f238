"""The Random door on the system's source of randomness: ids cannot be guessed."""

import secrets


class SystemRandom:
    """Unpredictable; not fast, and nothing that is asked often draws from it."""

    def below(self, bound: int) -> int:
        """Each integer from 0 up to, not including, `bound` is as likely as the others."""
        return secrets.randbelow(bound)

    def bytes(self, count: int) -> bytes:
        """So many random bytes."""
        return secrets.token_bytes(count)
