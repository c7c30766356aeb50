import PushRandom

/// The broadcast channels of all apps.
package struct BroadcastChannels {
    package struct Channel: Equatable, Sendable {
        /// The storage policy of the channel. 0: no message is stored; 1: the newest message is stored.
        package var policy: UInt8
        /// The number of broadcasts accepted for this channel.
        package var broadcasts: UInt64 = 0
    }

    /// The app in one environment that a channel belongs to.
    struct App: Hashable {
        private let bundle: [UInt8]
        private let environment: APNsEnvironment

        init(_ bundle: ByteView, in environment: APNsEnvironment) {
            self.bundle = bundle.copied()
            self.environment = environment
        }
    }

    private static let maxApps = 1000
    private var apps: [App: ByteTable<Channel>] = [:]

    /// Creates a channel and returns its id, or nil if the app already has the maximum number of channels.
    mutating func create(
        for app: App, policy: UInt8, limit: Int, random: inout SeededRandom
    ) -> [UInt8]? {
        guard apps[app] != nil || apps.count < Self.maxApps, apps[app, default: ByteTable()].count < limit else {
            return nil
        }
        var bytes: [UInt8] = []
        for _ in 0..<16 { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
        let id = Base64.encode(bytes)
        apps[app, default: ByteTable()].set(Channel(policy: policy), for: id)
        return id
    }

    func channel(_ id: ByteView, of app: App) -> Channel? {
        apps[app]?[id]
    }

    mutating func remove(_ id: ByteView, of app: App) -> Bool {
        apps[app]?.remove(id.copied()) != nil
    }

    mutating func noteBroadcast(on id: ByteView, of app: App) {
        guard var channel = apps[app]?[id] else { return }
        channel.broadcasts += 1
        apps[app]?.set(channel, for: id.copied())
    }

    func ids(of app: App) -> [[UInt8]] {
        var ids: [[UInt8]] = []
        apps[app]?.forEach { id, _ in ids.append(id) }
        return ids
    }

    var count: Int { apps.values.reduce(0) { $0 + $1.count } }
}
