/// The settings of a client.
public struct ClientSettings: Sendable {
    /// The endpoints for pushes (`intake.router`), such as `tcp://127.0.0.1:5560`. The client uses the first that
    /// answers, and the next one when it does not any more.
    ///
    /// All of them must lead to one Carillon: ids are deduped within one, so that a message in doubt that goes to
    /// another Carillon may be delivered twice.
    public var endpoints: [String]
    /// The endpoints for events (`events.publish`): one, or those of all nodes of a cluster. The client listens to all of
    /// them at once, because each node publishes the events of its parts.
    public var events: [String]
    /// The endpoints for the events of the past (`events.replay`). The client asks one of them, and the next one when it
    /// does not answer.
    public var replay: [String]
    /// The keys for encrypted connections.
    public var keys: ClientKeys?
    /// How the client pushes.
    public var producer = ProducerSettings()
    /// Where messages are kept while Carillon is away. With nil, a push waits until its deadline.
    public var spool: SpoolSettings?
    /// The bytes of events that wait for their consumer in one subscription, at most. A slower consumer gets the rest
    /// by replay.
    public var maxBufferedEventBytes = 4 << 20
    /// The time after which a stream that always has events stores its cursor; others store it when they wait.
    var cursorInterval = Duration.milliseconds(250)
    /// Where the client logs.
    public var log = ClientLog.none
    /// Where the client counts.
    public var metrics: any ClientMetrics = NoMetrics()

    /// Creates settings. The defaults are those of a Carillon on this machine.
    public init(
        endpoints: [String] = ["tcp://127.0.0.1:5560"], events: [String] = ["tcp://127.0.0.1:5570"],
        replay: [String] = ["tcp://127.0.0.1:5571"], keys: ClientKeys? = nil
    ) {
        self.endpoints = endpoints
        self.events = events
        self.replay = replay
        self.keys = keys
    }

    /// Creates settings from environment variables: `CARILLON_ENDPOINTS`, `CARILLON_EVENTS` and `CARILLON_REPLAY` (each
    /// one or more, separated by commas), `CARILLON_SECRET_KEY`, `CARILLON_SERVER_KEY` and `CARILLON_SPOOL` (a
    /// directory). A variable that is missing leaves the default.
    ///
    /// - Throws: ``ClientError/invalidKey(_:)`` if a key is not valid or one of the two is missing.
    public init(environment: [String: String]) throws(ClientError) {
        self.init()
        if let list = environment["CARILLON_ENDPOINTS"] { endpoints = Self.list(list) }
        if let list = environment["CARILLON_EVENTS"] { events = Self.list(list) }
        if let list = environment["CARILLON_REPLAY"] { replay = Self.list(list) }
        switch (environment["CARILLON_SECRET_KEY"], environment["CARILLON_SERVER_KEY"]) {
        case (let secret?, let server?): keys = try ClientKeys(secret: secret, server: server)
        case (nil, nil): break
        default: throw .invalidKey("CARILLON_SECRET_KEY and CARILLON_SERVER_KEY belong together; set both or none")
        }
        if let directory = environment["CARILLON_SPOOL"] { spool = SpoolSettings(directory: directory) }
    }

    private static func list(_ text: String) -> [String] { text.split(separator: ",").map { String($0) } }

    func check() throws(ClientError) {
        for (name, list, port) in [("endpoints", endpoints, 5560), ("events", events, 5570), ("replay", replay, 5571)]
        where list.isEmpty || list.contains(where: \.isEmpty) {
            throw .invalidSetting("\(name) needs at least one endpoint, such as tcp://127.0.0.1:\(port)")
        }
        guard maxBufferedEventBytes > 0 else { throw .invalidSetting("maxBufferedEventBytes must be above 0") }
        try producer.check()
        try spool?.check()
    }
}
