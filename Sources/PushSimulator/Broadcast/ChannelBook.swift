/// The broadcast channels of all apps.
package struct ChannelBook {
    package struct Channel: Equatable, Sendable {
        /// The storage policy of the channel. 0: no message is stored; 1: the newest message is stored.
        package var policy: UInt8
        /// The number of broadcasts accepted for this channel.
        package var broadcasts: UInt64 = 0
    }

    private struct App: Hashable {
        var bundle: [UInt8]
        var environment: APNsEnvironment
    }

    private static let mostApps = 1000
    private var apps: [App: ByteTable<Channel>] = [:]

    /// Creates a channel and returns its id, or nil if the app already has the maximum number of channels.
    mutating func create(
        _ bundle: ByteView, _ environment: APNsEnvironment, policy: UInt8, limit: Int, random: inout SplitMix
    ) -> [UInt8]? {
        let app = App(bundle: bundle.copied(), environment: environment)
        guard apps[app] != nil || apps.count < Self.mostApps, apps[app, default: ByteTable()].count < limit else {
            return nil
        }
        var bytes: [UInt8] = []
        for _ in 0..<16 { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
        let id = Base64.encode(bytes)
        apps[app, default: ByteTable()].set(Channel(policy: policy), for: id)
        return id
    }

    func channel(_ id: ByteView, _ bundle: ByteView, _ environment: APNsEnvironment) -> Channel? {
        apps[App(bundle: bundle.copied(), environment: environment)]?[id]
    }

    mutating func remove(_ id: ByteView, _ bundle: ByteView, _ environment: APNsEnvironment) -> Bool {
        apps[App(bundle: bundle.copied(), environment: environment)]?.remove(id.copied()) != nil
    }

    mutating func noteBroadcast(_ id: ByteView, _ bundle: ByteView, _ environment: APNsEnvironment) {
        let app = App(bundle: bundle.copied(), environment: environment)
        guard var channel = apps[app]?[id] else { return }
        channel.broadcasts += 1
        apps[app]?.set(channel, for: id.copied())
    }

    func ids(_ bundle: ByteView, _ environment: APNsEnvironment) -> [[UInt8]] {
        var ids: [[UInt8]] = []
        apps[App(bundle: bundle.copied(), environment: environment)]?.forEach { id, _ in ids.append(id) }
        return ids
    }

    var count: Int { apps.values.reduce(0) { $0 + $1.count } }
}
