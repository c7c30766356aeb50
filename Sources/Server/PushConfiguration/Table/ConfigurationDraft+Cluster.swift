import PushModel
import PushTransport

extension ConfigurationDraft {
    /// `cluster`, which is complete only with a name and with `store`.
    struct Cluster: Sendable {
        var node: NodeID?
        var listen = Configuration.Cluster.defaultListen
        var advertise: HostPort?
        var lease: Duration = .seconds(5)
        var durability = Configuration.Cluster.Durability.replicated

        init() {}

        init(_ cluster: Configuration.Cluster?) {
            guard let cluster else { return }
            node = cluster.node
            listen = cluster.listen
            advertise = cluster.advertise
            lease = cluster.lease
            durability = cluster.durability
        }

        var configuration: Configuration.Cluster? {
            guard let node else { return nil }
            var cluster = Configuration.Cluster(node)
            cluster.listen = listen
            cluster.advertise = advertise
            cluster.lease = lease
            cluster.durability = durability
            return cluster
        }
    }

    static let store = Setting(
        "store", atOptional: \ConfigurationDraft.values.store, as: .database, applies: .restart,
        documentation: """
            A PostgreSQL database that several nodes share, instead of files in `data`: \
            "postgres://USER@HOST1,HOST2/DATABASE". `carillon store init` prepares it. The password comes with the URL in \
            the variable CARILLON_STORE, or use sslcert and sslkey. See Documentation/Cluster.md. Default: files in \
            `data`.
            """)

    static let cluster: [Setting<ConfigurationDraft>] = [
        Setting(
            "cluster.node", atOptional: \.cluster.node, as: .nodeID, applies: .restart,
            requirement: ": the name of this node, such as \"a\"",
            documentation: "The name of this node, which no other node has. Required with `store`."),
        Setting(
            "cluster.listen", at: \.cluster.listen, as: .nodeAddress, applies: .restart,
            documentation: "The address for the other nodes. They authenticate each other with CURVE."),
        Setting(
            "cluster.advertise", atOptional: \.cluster.advertise, as: .nodeAddress, applies: .restart,
            documentation: """
                The address that other nodes connect to, if it is another one. Default: that of listen.
                """),
        Setting(
            "cluster.lease", at: \.cluster.lease, as: .duration(in: .seconds(1)...(.seconds(60))), applies: .restart,
            documentation: """
                How long this node owns its partitions after the database has last renewed them. Other nodes take them \
                over after that, so a short lease shortens an outage, and a long one survives a longer outage of the \
                database.
                """),
        Setting(
            "cluster.durability", at: \.cluster.durability, as: .choice, applies: .restart,
            documentation: """
                "replicated" acknowledges a message when the primary and a synchronous standby have it. "single" is for \
                a database without a standby: what was acknowledged is lost with its disk.
                """),
    ]

    /// Reports `store` without `cluster`, the other way around, and settings that have no effect with `store`.
    func checkCluster(in root: ConfigurationSection) {
        let retention = root.section("events").section("retention")
        // The shipped file has every setting, with its default.
        if values.store != nil, values.events.retention.size != Configuration.Events.Retention().size {
            retention.warn(
                "this has no effect with store: the events of a cluster are kept by their age, events.retention.age",
                at: "size")
        }
        if values.store != nil, cluster.node == nil, !root.section("cluster").isGiven {
            root.report(
                "with store, this node needs a name: add cluster: { node: \"a\" }, with another name on each node",
                at: "store")
        }
        if values.store == nil, root.section("cluster").isGiven, !root.has("store") {
            root.section("cluster").report(
                "cluster needs a database that the nodes share: set store, or remove cluster")
        }
    }
}

extension SettingCodec<Configuration.Store> {
    /// The URL of a database. Its text has no password.
    static var database: Self {
        Self(
            read: { key, section in
                if case .tree(let tree) = section.find(key), tree.members != nil {
                    section.report(
                        "one database is supported; partitions cannot be spread over several: write "
                            + "\"postgres://USER@HOST1,HOST2/DATABASE\"", at: key)
                    return nil
                }
                guard let text = section.text(key) else { return nil }
                do {
                    return try Configuration.Store(text)
                } catch {
                    section.report("\(error)", at: key)
                    return nil
                }
            },
            text: { $0.description })
    }
}

extension SettingCodec<NodeID> {
    static var nodeID: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                guard let id = NodeID(text) else {
                    section.report(
                        "\"\(text)\" is not the name of a node: 1 to 64 letters, digits, '.', '_' and '-'", at: key)
                    return nil
                }
                return id
            },
            text: { $0.name })
    }
}

extension SettingCodec<HostPort> {
    /// The address of a node for other nodes.
    static var nodeAddress: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                guard text.hasPrefix("tcp://"), let address = HostPort(String(text.dropFirst(6))) else {
                    section.report("\"\(text)\" is not an address; write \"tcp://10.0.0.1:5580\"", at: key)
                    return nil
                }
                return address
            },
            text: { "tcp://\($0)" })
    }
}
