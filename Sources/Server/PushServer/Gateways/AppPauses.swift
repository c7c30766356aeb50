import PushModel
import PushTime

/// The apps that operators have paused, and since when. Confined to the actor that uses it.
///
/// The changes of an app are stored one after the other. A pause that comes while the end of the last one is being
/// stored waits for it: otherwise it would find the app paused, and be undone.
final class AppPauses {
    private(set) var since: [AppID: WallTime]
    /// The apps of which a change is being stored, and the changes that wait for it.
    private var changing: [AppID: [CheckedContinuation<Void, Never>]] = [:]
    /// When the last change was stored.
    private var changedAt = MonotonicTime(nanoseconds: .min)

    init(_ since: [AppID: WallTime]) {
        self.since = since
    }

    func contains(_ app: AppID) -> Bool { since[app] != nil }

    /// Pauses an app or lets it continue, unless that is so already. Calls `apply` when the change is stored. Returns the
    /// fault if it cannot be stored.
    func change<Fault>(
        _ app: AppID, to isPaused: Bool, at now: WallTime, isolation: isolated (any Actor)? = #isolation,
        store: (WallTime?) async -> Fault?, apply: () -> Void
    ) async -> Fault? {
        if changing[app] == nil {
            changing[app] = []
        } else {
            await withCheckedContinuation { changing[app]?.append($0) }
        }
        defer { endChange(of: app) }
        if contains(app) == isPaused { return nil }
        let time = isPaused ? now : nil
        if let fault = await store(time) { return fault }
        since[app] = time
        changedAt = .current()
        apply()
        return nil
    }

    /// Ends a change. The next one of the app begins.
    private func endChange(of app: AppID) {
        guard let next = changing[app]?.first else { return changing[app] = nil }
        changing[app]?.removeFirst()
        next.resume()
    }

    /// Takes the pauses that the nodes of the cluster share, and returns the apps whose state differs. A reading from
    /// before a change of this node does not have it, and one from during it may: the next one follows in a second.
    func follow(_ all: [AppID: WallTime], readAt: MonotonicTime) -> [AppID] {
        if readAt < changedAt { return [] }
        let changed = Set(since.keys).union(all.keys).filter { app in
            changing[app] == nil && contains(app) != (all[app] != nil)
        }
        for app in changed { since[app] = all[app] }
        return changed.sorted { $0.name < $1.name }
    }
}
