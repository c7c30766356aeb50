package import PushModel

/// What intake knows of an app.
package struct AppFacts: Sendable {
    package let id: AppID
    /// The bundle id.
    package let topic: String
    /// Whether it has a provider token, and not a certificate: some push types go with nothing else.
    package let usesToken: Bool

    package init(id: AppID, topic: String, usesToken: Bool) {
        self.id = id
        self.topic = topic
        self.usesToken = usesToken
    }
}

/// The apps by their names, to be found by bytes: no String is made for an app that is known.
package struct AppTable: Sendable {
    package let apps: [AppFacts]
    private let names: [[UInt8]]
    /// Of each, one bit for each push type whose topic it can have.
    private let fits: [UInt16]
    /// By hash: the number of an app and one, or 0. At least half of them are 0.
    private let slots: [UInt32]

    /// Of two with one name the first counts.
    package init(_ apps: [AppFacts]) {
        self.apps = apps
        names = apps.map { Array($0.id.name.utf8) }
        fits = apps.map { app in
            PushType.allCases.reduce(0) { $0 | (Topic.fits($1.topic(of: app.topic), $1) ? 1 << UInt16($1.number) : 0) }
        }
        var size = 8
        while size < 2 * apps.count { size *= 2 }
        var slots = [UInt32](repeating: 0, count: size)
        for (number, name) in names.enumerated() {
            var slot = name.withUnsafeBytes { Self.hash($0) } & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
        self.slots = slots
    }

    /// The number of an app; nil if there is none of that name.
    func number(of name: UnsafeRawBufferPointer) -> Int? {
        guard (1...64).contains(name.count) else { return nil }
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if names[number].count == name.count, names[number].withUnsafeBytes({ $0.elementsEqual(name) }) {
                return number
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Whether notifications of that type can go to an app: its topic may already end in what another type adds.
    func fits(_ type: PushType, _ number: Int) -> Bool { fits[number] & 1 << UInt16(type.number) != 0 }

    private static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var hash: UInt32 = 2_166_136_261
        for byte in name { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int(hash)
    }
}
