import PushLoop
import PushModel

/// The users, devices and tokens of large named audiences without duplicates, computed for the first page and kept for the
/// others.
///
/// A few lists are kept. If there are more, a list is computed again, with the same result.
final class NamedAudiences: Sendable {
    private struct Kept<Element: Sendable>: Sendable {
        let all: [Element]
        let unique: [Element]
    }

    private struct State {
        var users: [Kept<String>] = []
        var devices: [Kept<DeviceID>] = []
        var tokens: [Kept<Address>] = []
    }

    /// The equality of elements and of lists.
    private struct Identity<Element, Key: Hashable>: Sendable {
        let key: @Sendable (Element) -> Key
        let isSame: @Sendable ([Element], [Element]) -> Bool
    }

    /// Compares users by their bytes, as SQLite does: Swift considers texts equal that are encoded differently.
    private static let ofUsers = Identity<String, ExactText>(key: { ExactText($0) }) { one, other in
        guard one.count == other.count else { return false }
        // Two arrays with the same storage are equal, without a comparison of their elements.
        let share = unsafe one.withUnsafeBufferPointer { one in
            unsafe other.withUnsafeBufferPointer { unsafe one.baseAddress == $0.baseAddress }
        }
        return share || zip(one, other).allSatisfy { $0.isExactly($1) }
    }

    private static let ofDevices = Identity<DeviceID, DeviceID>(key: { $0 }, isSame: { $0 == $1 })

    /// Several tokens may be those of one device.
    private static let ofTokens = Identity<Address, Address>(key: { $0.identity }, isSame: { $0 == $1 })

    private static let limit = 4
    private let state = Locked(State())

    func users(_ all: [String]) -> [String] { unique(all, \.users, Self.ofUsers) }

    func devices(_ all: [DeviceID]) -> [DeviceID] { unique(all, \.devices, Self.ofDevices) }

    func tokens(_ all: [Address]) -> [Address] { unique(all, \.tokens, Self.ofTokens) }

    /// - Parameter unique: the list that `users` returned.
    func forget(users unique: [String]) {
        state.withLock { $0.users.removeAll { Self.ofUsers.isSame($0.unique, unique) } }
    }

    func forget(devices unique: [DeviceID]) {
        state.withLock { $0.devices.removeAll { $0.unique == unique } }
    }

    func forget(tokens unique: [Address]) {
        state.withLock { $0.tokens.removeAll { $0.unique == unique } }
    }

    private func unique<Element, Key>(
        _ all: [Element], _ kept: WritableKeyPath<State, [Kept<Element>]>, _ identity: Identity<Element, Key>
    ) -> [Element] {
        if all.count <= SQLiteRegistry.listLimit { return Self.unique(all, identity) }
        let known = state.withLock { state in state[keyPath: kept].first { identity.isSame($0.all, all) }?.unique }
        if let known { return known }
        let unique = Self.unique(all, identity)
        state.withLock { state in
            if state[keyPath: kept].count >= Self.limit { state[keyPath: kept].removeFirst() }
            state[keyPath: kept].append(Kept(all: all, unique: unique))
        }
        return unique
    }

    private static func unique<Element, Key>(_ all: [Element], _ identity: Identity<Element, Key>) -> [Element] {
        var seen: Set<Key> = []
        return all.filter { seen.insert(identity.key($0)).inserted }
    }
}
