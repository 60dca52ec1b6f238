"""How long Hypothesis may take is not what its tests are about."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "odradek",
    deadline=None,  # a loaded machine is not a failure
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,  # so that a failure elsewhere can be had here
)
settings.load_profile("odradek")
