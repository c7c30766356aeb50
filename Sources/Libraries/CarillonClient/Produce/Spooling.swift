import PushTime

/// The spool as the producer's loop sees it: what is being written, and what goes out from it.
struct Spooling {
    let files: SpoolFiles
    let settings: SpoolSettings
    /// The submissions that wait to be written.
    var queue: [Submission] = []
    var queuedBytes = 0
    var isWriting = false
    /// The apps of the messages in the spool, also of those that wait to be written.
    var apps: AppCounts
    /// Whether there are records that were never read.
    var hasUnread: Bool
    /// The apps whose records were passed over.
    var parked: Set<IDKey> = []
    var isReading = false
    /// The records that were read and wait for room.
    var ready: [SpoolRecord] = []
    /// The records that the machine has, by app.
    private(set) var underWay: [IDKey: Load] = [:]
    private(set) var total = 0
    /// The apps whose records are being given back to the files, with the number of times.
    private(set) var returning: [IDKey: Int] = [:]
    var acknowledged: [UInt64] = []
    var isAcknowledging = false

    init(_ files: SpoolFiles, settings: SpoolSettings) {
        self.files = files
        self.settings = settings
        apps = files.apps
        hasUnread = files.count > 0
    }

    /// Called when no record is left: those that were damaged have not ended under their apps.
    mutating func forgetApps() {
        guard queue.isEmpty, !isWriting, total == 0, ready.isEmpty, acknowledged.isEmpty else { return }
        apps.removeAll()
    }

    private static let forever = Duration.seconds(Int64.max / 4_000_000_000)

    /// Returns the time that a record may still be sent.
    func timeLeft(of record: SpoolRecord, now: WallTime) -> Duration {
        guard let time = record.time else { return Self.forever }
        // A clock that was ahead does not make a message younger than new.
        let age = max(0, now.milliseconds(since: time))
        return min(settings.maxAge, Self.forever) - .milliseconds(age)
    }

    /// Messages of one app.
    struct Load {
        var messages = 0
        var bytes = 0
    }

    func load(of app: IDKey) -> Load { underWay[app] ?? Load() }

    mutating func began(_ request: EncodedRequest) {
        total += 1
        underWay[request.appKey, default: Load()].messages += 1
        underWay[request.appKey, default: Load()].bytes += request.count
    }

    mutating func ended(_ request: EncodedRequest) {
        total -= 1
        guard var load = underWay[request.appKey] else { return }
        load.messages -= 1
        load.bytes -= request.count
        underWay[request.appKey] = load.messages > 0 ? load : nil
    }

    /// Begins to give records back, and with them what waits of their apps, which would otherwise go first.
    mutating func beginReturning(_ returned: inout [IDKey: [UInt64]]) {
        var kept: [SpoolRecord] = []
        for record in ready {
            if returned[record.request.appKey] != nil {
                returned[record.request.appKey]?.append(record.number)
            } else {
                kept.append(record)
            }
        }
        ready = kept
        for app in returned.keys { returning[app, default: 0] += 1 }
    }

    mutating func endReturning(_ apps: some Sequence<IDKey>) {
        for app in apps { returning[app] = returning[app].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }
}
