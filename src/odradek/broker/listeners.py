"""Who hears what, in a broker: for each event its one emitter, and its listeners in their order.

A part that has something to tell keeps a list, and does not know who is in it. The lists are filled
here, once, before anything is opened; `docs/listeners.md` says what each event means.
"""

from collections.abc import Callable
from functools import partial

from odradek.broker.control.broker_session import ALL_PATHS
from odradek.broker.parts import Parts
from odradek.broker.settings import BrokerWatcher
from odradek.storage.dirs.log_dirs import WentOffline


def listen(
    of: Parts, on_settings: BrokerWatcher, on_dir_failed: Callable[[WentOffline], None]
) -> None:
    """Everything that is told from now on; the two callbacks are the broker's own."""
    _to_the_cluster(of)
    _to_settings(of, on_settings)
    _to_roles(of)
    _to_disks(of, on_dir_failed)
    _to_zookeeper(of)


def _to_the_cluster(of: Parts) -> None:
    """The controller has told of the cluster, or leaders have of a transaction."""
    hosting, copying, controlling = of.hosting, of.copying, of.controlling
    of.ground.cluster.watchers += [
        copying.vanished.on_image,
        copying.resignations.on_metadata,
        copying.fetchers.on_metadata,
        copying.corrupt_replicas.on_metadata,
        controlling.departed.on_image,
        copying.fetches.on_metadata,
        of.coordinating.groups.on_image,
        hosting.whole_logs.on_metadata,
        hosting.isr_watch.on_metadata,
        controlling.watch.on_image,
    ]
    of.coordinating.markers.on_marked += [of.coordinating.transactions.on_marked]


def _to_settings(of: Parts, on_settings: BrokerWatcher) -> None:
    """Settings have changed."""
    settings, throttles, loop = of.ground.settings, of.copying.throttles, of.controlling.loop
    settings.broker_watchers += [
        throttles.leading.on_settings,
        throttles.following.on_settings,
        loop.on_settings,
        on_settings,
    ]
    settings.topic_watchers += [
        loop.on_topic_settings,
        of.hosting.replicas.on_topic_settings,
    ]


def _to_roles(of: Parts) -> None:
    """A replica of this broker has begun to lead or to follow, or has ended."""
    roles, copying, whole_logs = of.hosting.replicas.roles, of.copying, of.hosting.whole_logs
    coordinating = of.coordinating
    roles.on_elected += [
        copying.corrupt_replicas.resign,
        coordinating.groups.on_elected,
        coordinating.transactions.on_elected,
        whole_logs.on_elected,
    ]
    roles.on_epoch += [copying.fetches.on_role]
    roles.on_resigned += [coordinating.groups.on_resigned, coordinating.transactions.on_resigned]
    roles.on_following += [
        copying.fetchers.follow,
        copying.mender.look_at,
        copying.fetches.on_role,
        whole_logs.on_following,
    ]
    roles.on_unfollowed += [copying.fetchers.unfollow, whole_logs.on_unfollowed]
    of.hosting.replicas.on_follower_start += [copying.fetchers.on_log_start]


def _to_disks(of: Parts, on_dir_failed: Callable[[WentOffline], None]) -> None:
    """A log dir has failed, is full or has room again, or has a log with a corrupt batch."""
    session, hosting, copying = of.ground.session, of.hosting, of.copying
    replicas, full_disks = hosting.replicas, copying.full_disks
    replicas.on_dir_failed += [
        session.report_log_dirs,
        on_dir_failed,
        hosting.dir_admin.on_dir_failed,
        full_disks.on_dir_failed,
        hosting.disk_watch.on_dir_failed,
    ]
    replicas.on_dir_replaced += [session.report_log_dirs]
    if hosting.disk_wear is not None:
        replicas.on_dir_replaced += [hosting.disk_wear.on_dir_replaced]
    replicas.on_dir_replaced += [hosting.maintenance.on_dir_replaced]
    replicas.on_dirs_to_report += [session.report_log_dirs]
    replicas.logs.on_corrupt_file += [copying.corrupt_replicas.on_corrupt_file]
    replicas.logs.on_corrupt += [copying.corrupt_replicas.on_corrupt]
    replicas.logs.on_measuring += [full_disks.wanted_room]
    replicas.logs.on_measured += [full_disks.on_measured]
    for appends in replicas.logs.appends.values():
        appends.on_full += [full_disks.on_full]
    full_disks.on_room += [copying.fetchers.follow]


def _to_zookeeper(of: Parts) -> None:
    """The tree has changed, or the session is over."""
    session, rules, loop = of.ground.session, of.ground.rules, of.controlling.loop
    if rules is not None:
        session.on_change += [partial(rules.look, everything=ALL_PATHS)]
        rules.on_changed += [of.copying.fetches.on_rules]
    session.on_change += [
        of.controlling.features.look,
        session.look_at_changes,
        of.controlling.requests.look_at_unnamed,
    ]
    session.on_watch += [loop.on_watch]
    session.on_tree_changed += [loop.on_tree_changed]
    session.on_session_over += [loop.on_session_over]
    loop.standing_by.on_awaited += [of.controlling.watch.also]
