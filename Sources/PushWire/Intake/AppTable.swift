package import PushModel

/// The properties of an app that intake needs.
package struct AppFacts: Sendable {
    package let id: AppID
    /// The bundle id.
    package let topic: String
    /// Whether the app has a provider token rather than a certificate; some push types require one.
    package let usesToken: Bool

    package init(id: AppID, topic: String, usesToken: Bool) {
        self.id = id
        self.topic = topic
        self.usesToken = usesToken
    }
}

/// The apps, indexed by the bytes of their names, so that a look-up creates no `String`.
package struct AppTable: Sendable {
    package let apps: [AppFacts]
    private let names: [[UInt8]]
    /// For each app, one bit for each push type whose topic the app can have.
    private let allowedTypes: [UInt16]
    /// A hash table of app numbers plus one, with 0 for an empty slot. At least half of the slots are empty.
    private let slots: [UInt32]

    /// Creates a table. If two apps have the same name, the first is found.
    package init(_ apps: [AppFacts]) {
        self.apps = apps
        names = apps.map { Array($0.id.name.utf8) }
        allowedTypes = apps.map { app in
            PushType.allCases.reduce(0) {
                $0 | (Topic.isValid($1.topic(of: app.topic), for: $1) ? 1 << UInt16($1.number) : 0)
            }
        }
        var size = 8
        while size < 2 * apps.count { size *= 2 }
        var slots = [UInt32](repeating: 0, count: size)
        for (number, name) in names.enumerated() {
            var slot = ByteView.lending(name) { $0.hash() } & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
        self.slots = slots
    }

    package func contains(_ app: AppID) -> Bool {
        ByteView.lending(Array(app.name.utf8)) { number(of: $0) } != nil
    }

    /// Returns the number of the app with this name, or nil.
    func number(of name: ByteView) -> Int? {
        guard (1...64).contains(name.count) else { return nil }
        var slot = name.hash() & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if name.equals(names[number]) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Whether notifications of that type can be sent to an app, whose topic may already end in the suffix of another
    /// type.
    func allows(_ type: PushType, forApp number: Int) -> Bool { allowedTypes[number] & 1 << UInt16(type.number) != 0 }
}
