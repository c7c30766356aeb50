import PushTime

/// The spool as the producer's loop sees it: what is being written, and what goes out from it.
struct Spooling {
    let files: SpoolFiles
    let settings: SpoolSettings
    /// The submissions that wait to be written.
    var queue: [Submission] = []
    var queuedBytes = 0
    var isWriting = false
    /// The number of records that are not acknowledged.
    var count: Int
    /// The number of records that are stored and were not read.
    var unread: Int
    var isReading = false
    /// The records that were read and wait for room.
    var ready: [SpoolRecord] = []
    /// The number of records that the machine has.
    var underWay = 0
    var acknowledged: [UInt64] = []
    var isAcknowledging = false

    init(_ files: SpoolFiles, settings: SpoolSettings) {
        self.files = files
        self.settings = settings
        count = files.count
        unread = count
    }

    private static let forever = Duration.seconds(Int64.max / 4_000_000_000)

    /// Returns the time that a record may still be sent.
    func timeLeft(of record: SpoolRecord, now: WallTime) -> Duration {
        guard let time = record.time else { return Self.forever }
        // A clock that was ahead does not make a message younger than new.
        let age = max(0, now.milliseconds(since: time))
        return min(settings.maxAge, Self.forever) - .milliseconds(age)
    }

    var isEmpty: Bool { count == 0 && queue.isEmpty && !isWriting }
}
