extension JSONDocument {
    /// The number of members up to which the keys of an object are compared in pairs.
    private static let fewMembers = 12

    /// Returns the first key that its object already has, in the order in which objects begin; nil if there is none.
    ///
    /// Keys are compared after unescaping, so `\u0061` equals `a`. O(n log n) in the number of keys of an object,
    /// whatever the keys are.
    package func repeatedKey() -> Place? {
        for index in nodes.indices where nodes[index].kind == .object {
            if let key = repeatedKey(in: Place(index: UInt32(index))) { return key }
        }
        return nil
    }

    private func repeatedKey(in object: Place) -> Place? {
        var keys: [Place] = []
        for member in members(object) { keys.append(member.key) }
        guard keys.count > 1 else { return nil }
        if keys.count <= Self.fewMembers {
            for later in 1..<keys.count {
                for earlier in 0..<later where isSame(keys[earlier], keys[later]) { return keys[later] }
            }
            return nil
        }
        var seen: Set<[UInt8]> = []
        seen.reserveCapacity(keys.count)
        return keys.first { !seen.insert(unescapedBytes($0)).inserted }
    }

    private func isSame(_ one: Place, _ other: Place) -> Bool {
        if kind(one) == .string && kind(other) == .string { return text(one).elementsEqual(text(other)) }
        return unescapedBytes(one) == unescapedBytes(other)
    }

    private func unescapedBytes(_ string: Place) -> [UInt8] {
        let inner = text(string).dropFirst().dropLast()
        return kind(string) == .escapedString ? JSONText.unescaped(inner) : Array(inner)
    }
}
