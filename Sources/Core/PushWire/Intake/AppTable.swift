package import PushModel

/// The properties of an app that intake needs.
package struct AppFacts: Sendable {
    package let id: AppID
    /// What the app's push service makes of addresses and messages.
    package let codec: any ServiceCodec

    package init(id: AppID, codec: any ServiceCodec) {
        self.id = id
        self.codec = codec
    }
}

/// The apps, indexed by the bytes of their names, so that a look-up creates no `String`.
package struct AppTable: Sendable {
    package let apps: [AppFacts]
    private let names: [[UInt8]]
    /// A hash table of app numbers plus one, with 0 for an empty slot. At least half of the slots are empty.
    private let slots: [UInt32]

    /// Creates a table. If two apps have the same name, the first is found.
    package init(_ apps: [AppFacts]) {
        self.apps = apps
        names = apps.map { Array($0.id.name.utf8) }
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
}
