"""The logs under the replicas: written together, moved between log dirs, doubted."""
