import PushLoop
import PushModel

/// Who is named in the audiences under way, each once: worked out for the first page and kept for the others.
///
/// A few at a time; for more, it is worked out again, with the same result.
final class NamedAudiences: Sendable {
    private struct Kept<Element: Hashable & Sendable>: Sendable {
        let all: [Element]
        let unique: [Element]
    }

    private struct State {
        var users: [Kept<String>] = []
        var devices: [Kept<DeviceID>] = []
    }

    private static let limit = 4
    private let state = Locked(State())

    func users(_ all: [String]) -> [String] { unique(all, \.users) }

    func devices(_ all: [DeviceID]) -> [DeviceID] { unique(all, \.devices) }

    /// - Parameter unique: what was handed out.
    func forget(users unique: [String]) {
        state.withLock { $0.users.removeAll { $0.unique == unique } }
    }

    func forget(devices unique: [DeviceID]) {
        state.withLock { $0.devices.removeAll { $0.unique == unique } }
    }

    private func unique<Element>(_ all: [Element], _ kept: WritableKeyPath<State, [Kept<Element>]>) -> [Element] {
        if all.count <= Registry.listLimit { return Self.unique(all) }
        // Two that share their memory are equal without a look at what is in them.
        let known = state.withLock { state in state[keyPath: kept].first { $0.all == all }?.unique }
        if let known { return known }
        let unique = Self.unique(all)
        state.withLock { state in
            if state[keyPath: kept].count >= Self.limit { state[keyPath: kept].removeFirst() }
            state[keyPath: kept].append(Kept(all: all, unique: unique))
        }
        return unique
    }

    private static func unique<Element: Hashable>(_ all: [Element]) -> [Element] {
        var seen: Set<Element> = []
        return all.filter { seen.insert($0).inserted }
    }
}
