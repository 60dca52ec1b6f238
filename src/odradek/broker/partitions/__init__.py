"""The replicas that this broker hosts: their logs, who leads them, appends, maintenance."""
