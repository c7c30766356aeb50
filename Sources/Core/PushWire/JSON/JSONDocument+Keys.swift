extension JSONDocument {
    /// The number of members up to which the keys of an object are compared in pairs.
    private static let maxComparedMembers = 12

    /// Returns the first key that its object already has, in the order in which objects begin; nil if there is none.
    ///
    /// Keys are compared after unescaping, so `\u0061` equals `a`. O(n log n) in the number of keys of an object,
    /// whatever the keys are.
    package func repeatedKey() -> Position? {
        for index in nodes.indices where nodes[index].kind == .object {
            if let key = repeatedKey(in: Position(index: UInt32(index))) { return key }
        }
        return nil
    }

    /// A step from a container to what it contains.
    package enum Step: Sendable {
        /// The member with this name.
        case member(String)
        /// The element with this index.
        case element(Int)
    }

    /// Returns the way from the root to a key. O(n).
    package func steps(toKey key: Position) -> [Step] {
        var steps: [Step] = []
        var container: Position? = root
        while let place = container {
            container = nil
            for member in members(place) where member.key == key || contains(member.value, key) {
                steps.append(.member(string(member.key) ?? ""))
                if member.key != key { container = member.value }
                break
            }
            for (index, element) in elements(place).enumerated() where contains(element, key) {
                steps.append(.element(index))
                container = element
                break
            }
        }
        return steps
    }

    /// The number of steps from which on a path is cut in the middle.
    private static let maxSteps = 8

    /// Returns where a key is, such as `aps.alert` or `items[2].name`, for messages. Its length is limited, since anyone
    /// can choose the keys. O(n).
    package func path(ofKey key: Position) -> String {
        let steps = steps(toKey: key).enumerated().map { index, step in
            switch step {
            case .member(let name): index == 0 ? Self.short(name) : ".\(Self.short(name))"
            case .element(let index): "[\(index)]"
            }
        }
        guard steps.count > Self.maxSteps else { return steps.joined() }
        let half = Self.maxSteps / 2
        return steps.prefix(half).joined() + "…" + steps.suffix(half).joined()
    }

    private static func short(_ key: String) -> String { key.utf8.count <= 48 ? key : "\(key.prefix(40))…" }

    private func contains(_ value: Position, _ inner: Position) -> Bool {
        value.index < inner.index && inner.index < nodes[Int(value.index)].next
    }

    private func repeatedKey(in object: Position) -> Position? {
        var keys: [Position] = []
        for member in members(object) { keys.append(member.key) }
        guard keys.count > 1 else { return nil }
        if keys.count <= Self.maxComparedMembers {
            for later in 1..<keys.count {
                for earlier in 0..<later where isKey(keys[earlier], equalTo: keys[later]) { return keys[later] }
            }
            return nil
        }
        var seen: Set<[UInt8]> = []
        seen.reserveCapacity(keys.count)
        return keys.first { !seen.insert(unescapedBytes($0)).inserted }
    }

    private func isKey(_ one: Position, equalTo other: Position) -> Bool {
        if kind(one) == .string && kind(other) == .string { return text(one).elementsEqual(text(other)) }
        return unescapedBytes(one) == unescapedBytes(other)
    }

    private func unescapedBytes(_ string: Position) -> [UInt8] {
        let inner = text(string).dropFirst().dropLast()
        return kind(string) == .escapedString ? JSONText.unescaped(inner) : Array(inner)
    }
}
