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

    var isEmpty: Bool { count == 0 && queue.isEmpty && !isWriting }
}
