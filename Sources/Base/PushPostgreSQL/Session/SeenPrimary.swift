package import PushLoop

/// The newest primary that the sessions of one process have seen.
///
/// A primary that was replaced and has not noticed goes on to answer whatever only reads, and nothing on its connections
/// fails. So no session uses an earlier timeline than any of them has seen, and those that are on an earlier one when
/// a later one is seen look for another server.
package final class SeenPrimary: Sendable {
    private struct State {
        /// The system identifier; nil before the first server.
        var system: Int64?
        var timeline: Int64 = 0
        /// The incarnation of the cluster, as far as it was read.
        var cluster: Int64?
        var watchers: [Int: @Sendable () -> Void] = [:]
        var lastWatcher = 0

        mutating func replace(_ system: Int64, timeline: Int64, cluster: Int64?) {
            (self.system, self.timeline, self.cluster) = (system, timeline, cluster)
        }
    }

    private let state = Locked(State())

    package init() {}

    // MARK: Judging

    /// Takes what a session has found. Returns why it must not use the server; nil if it may.
    package func fault(of info: ServerInfo) -> String? {
        judge { state in
            guard let system = state.system else {
                state.replace(info.systemIdentifier, timeline: info.timeline, cluster: nil)
                return nil
            }
            guard info.systemIdentifier == system else {
                return "the server \(info.target) belongs to the database system "
                    + "\(UInt64(bitPattern: info.systemIdentifier)), and this process uses "
                    + "\(UInt64(bitPattern: system)); correct the hosts of the store"
            }
            return Self.fault(of: info, &state)
        }
    }

    /// Takes what the cluster has found, which has also read the incarnation of the store. It decides which database this
    /// process uses: another system or another incarnation replaces what was seen before.
    package func fault(of info: ServerInfo, cluster: Int64) -> String? {
        judge { state in
            let isKnown = info.systemIdentifier == state.system && (state.cluster ?? cluster) == cluster
            guard isKnown else {
                state.replace(info.systemIdentifier, timeline: info.timeline, cluster: cluster)
                return nil
            }
            state.cluster = cluster
            return Self.fault(of: info, &state)
        }
    }

    /// Takes what an earlier process has seen of the same database.
    package func saw(system: Int64, timeline: Int64, cluster: Int64) {
        judge { state in
            let isKnown = (state.system ?? system) == system && (state.cluster ?? cluster) == cluster
            if isKnown, timeline > state.timeline { state.replace(system, timeline: timeline, cluster: cluster) }
        }
    }

    private static func fault(of info: ServerInfo, _ state: inout State) -> String? {
        if info.timeline >= state.timeline {
            state.timeline = info.timeline
            return nil
        }
        return "the server \(info.target) has timeline \(info.timeline), and timeline \(state.timeline) was seen "
            + "before: it is a primary that was replaced, and another server is looked for; stop it, and let it follow the new "
            + "primary"
    }

    /// Judges, and notifies the sessions if what they must use has changed.
    private func judge<Result>(_ judge: (inout State) -> Result) -> Result {
        let (result, watchers) = state.withLock { state in
            let before = (state.system, state.timeline)
            let result = judge(&state)
            let isChanged = before.0 != nil && before != (state.system, state.timeline)
            return (result, isChanged ? Array(state.watchers.values) : [])
        }
        for watcher in watchers { watcher() }
        return result
    }

    // MARK: Watching

    /// Calls `changed` on the loop whenever a session on another primary than before must be judged again.
    package func watch(on loop: EventLoop, _ changed: @escaping () -> Void) -> Int {
        let bound = LoopBound(changed, on: loop)
        return state.withLock { state in
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = { loop.executeUnlessStopped { bound.wrapped() } }
            return state.lastWatcher
        }
    }

    package func endWatch(_ watcher: Int) { state.withLock { $0.watchers[watcher] = nil } }
}
