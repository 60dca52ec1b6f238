"""Logs of which a newer one may be in a log dir that is offline.

A dir may have been away while one that is offline now took its place, so each dir that serves notes
which others do not. A start that finds one offline, of which a dir does not say that it served
without it, doubts the logs of that dir: they follow, and do not lead while others may have all.
That the dir was closed is no proof: it may have been away for the whole of a later run.
"""

from collections.abc import Collection, Mapping
from functools import partial

import structlog

from odradek.broker.jobs import off_loop
from odradek.model.units import Timestamp
from odradek.ports import Worker
from odradek.storage.dirs.log_dir import Opened
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import StorageError

log = structlog.get_logger()

Workers = Mapping[str, Worker]
"""By the name of their dir."""


async def doubt(
    dirs: LogDirs, workers: Workers, opened: Mapping[str, Opened], now: Timestamp
) -> None:
    """Once all that can be were opened: begins or ends doubts."""
    offline = dirs.offline
    were_open = {name for name, found in opened.items() if not found.is_new}
    await _settle_leaving(dirs, workers, were_open, now)
    if not offline:
        await _end_doubts(dirs, workers, were_open, now)
        return
    for log_dir in dirs.online:
        try:
            doubt_all = partial(log_dir.doubt, offline, tuple(log_dir.logs))
            known = await off_loop(workers[log_dir.name], doubt_all)
        except StorageError as error:
            _not_noted(log_dir.name, error)
            continue
        log_dir.learn(known)
        if known:
            log.warning("logs.may_be_older", log_dir=log_dir.name, offline=sorted(offline))


async def _settle_leaving(
    dirs: LogDirs, workers: Workers, were_open: Collection[str], now: Timestamp
) -> None:
    """Logs that a move between dirs may have replaced just before the end.

    While the dir of that move is offline they are not served: they count as being there.
    """
    for log_dir in dirs.online:
        away = [p for p, it in log_dir.leaving.items() if it in dirs.offline and p in log_dir.logs]
        for partition in away:
            log_dir.left_behind[partition] = log_dir.logs.pop(partition)
        if away:
            log.warning("logs.may_have_moved", log_dir=log_dir.name, count=len(away))
        try:
            leaving = {p: it for p, it in log_dir.leaving.items() if p in log_dir.logs}
            settle = partial(log_dir.settle_leaving, leaving, were_open, now)
            known = await off_loop(workers[log_dir.name], settle)
        except StorageError as error:
            _not_noted(log_dir.name, error)
            continue
        log_dir.learn(known)
        log_dir.leaving = {p: it for p, it in log_dir.leaving.items() if p in log_dir.left_behind}


async def note_offline(
    dirs: LogDirs, workers: Workers, background: Workers, now: Timestamp
) -> bool:
    """Each dir that serves is told which ones do not; whether that ended doubts."""
    ended = not dirs.offline and await _end_doubts(dirs, workers, (), now)
    for log_dir in dirs.online:
        try:
            await off_loop(background[log_dir.name], partial(log_dir.note_offline, dirs.offline))
        except StorageError as error:
            _not_noted(log_dir.name, error)
    return ended


async def _end_doubts(
    dirs: LogDirs, workers: Workers, were_open: Collection[str], now: Timestamp
) -> bool:
    """No dir is offline: what may be newer is there, or is gone for good."""
    were_doubts = False
    for log_dir in dirs.online:
        try:
            end = partial(log_dir.end_doubts, were_open, now)
            known = await off_loop(workers[log_dir.name], end)
        except StorageError as error:
            _not_noted(log_dir.name, error)
            continue
        log_dir.learn(known)
        were_doubts |= bool(known)
    return were_doubts


def _not_noted(log_dir: str, error: StorageError) -> None:
    log.error("log_dir.cannot_be_noted", log_dir=log_dir, error=str(error))
