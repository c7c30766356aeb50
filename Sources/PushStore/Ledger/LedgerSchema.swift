import PushWire

/// The tables of the ledger. Rows are appended at the end and removed at the front, so that messages and deliveries
/// cause no writes at random places of the file.
enum LedgerSchema {
    static let version: Int64 = 1

    /// - `meta`: named values. `secret` is the key of the hashes in ``LedgerCore/identities``; `age` is the time of
    ///   ``AgeClock``; `age_ahead_since` is when the wall clock was found to be ahead of it; `probe` is written to test
    ///   for free space.
    /// - `log`: events, one `LogSegment` per row.
    /// - `heads`: the number of the newest event of each topic.
    /// - `messages`: accepted messages, many per row. A row is removed when all of its messages are done. The column
    ///   `heads` holds for each message its offset in `bodies` (u32), its priority (u8), whether it is broad (u8) and
    ///   its index in `apps` (u16).
    /// - `scheduled`: messages with a `not_before` in the future, until they are done.
    /// - `keys`: the data for deduplication, one row per group; `number` is the number of the group's first event.
    ///   `accepted` holds 24 bytes per message in the order of their numbers (fingerprint, content, audience). `ended`
    ///   holds 16 bytes per delivery (fingerprint, message and outcome); a message for one device has such an entry
    ///   only if it was scheduled or waited for long. `completed` holds 8 bytes per message.
    /// - `trace_runs`: parts of the log, indexed by message and device (``TraceRun``).
    /// - `trace_blocks`: the entries of these runs. The ids of a run's blocks begin with the number of its first event.
    static let tables = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE log (first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, body BLOB NOT NULL);
        CREATE TABLE heads (
            app TEXT NOT NULL, kind INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (app, kind)) WITHOUT ROWID;
        CREATE TABLE messages (
            first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, apps TEXT NOT NULL,
            heads BLOB NOT NULL, bodies BLOB NOT NULL);
        CREATE TABLE scheduled (
            seq INTEGER PRIMARY KEY, due INTEGER NOT NULL, time INTEGER NOT NULL, fingerprint INTEGER NOT NULL,
            content INTEGER NOT NULL, audience INTEGER NOT NULL, app TEXT NOT NULL, body BLOB NOT NULL);
        CREATE INDEX scheduled_by_due ON scheduled (due, seq);
        CREATE TABLE keys (
            number INTEGER PRIMARY KEY, time INTEGER NOT NULL, accepted BLOB NOT NULL, ended BLOB NOT NULL,
            completed BLOB NOT NULL);
        CREATE TABLE trace_runs (
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL, lows BLOB NOT NULL, rows BLOB NOT NULL);
        CREATE TABLE trace_blocks (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
        """
}

/// The facts about an accepted message that are stored for as long as its id is remembered.
struct AcceptedKey: Equatable {
    static let size = 24

    let fingerprint: UInt64
    /// A hash of payload and options. The lowest bit is ``isSingle``: the message was the first with its id and names
    /// one device. The delivery of such a message, whose fingerprint is `audience`, is not claimed until a second
    /// message with this id arrives.
    private(set) var content: UInt64
    let audience: UInt64

    init(fingerprint: UInt64, content: UInt64, audience: UInt64, isSingle: Bool) {
        self.fingerprint = fingerprint
        self.content = content & ~1 | (isSingle ? 1 : 0)
        self.audience = audience
    }

    /// Creates a key from its stored words.
    init(fingerprint: UInt64, content: UInt64, audience: UInt64) {
        self.fingerprint = fingerprint
        self.content = content
        self.audience = audience
    }

    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        fingerprint = unsafe bytes.word(at: index * Self.size)
        content = unsafe bytes.word(at: index * Self.size + 8)
        audience = unsafe bytes.word(at: index * Self.size + 16)
    }

    var isSingle: Bool {
        get { content & 1 == 1 }
        set { content = content & ~1 | (newValue ? 1 : 0) }
    }

    func hasContent(of other: AcceptedKey) -> Bool { content | 1 == other.content | 1 }
}

/// The facts about an ended delivery that are stored within the dedupe window.
struct EndedKey {
    static let size = 16
    private static let claimed: UInt64 = 0x80
    private static let only: UInt64 = 0x40

    let fingerprint: UInt64
    /// The message number (56 bits), ``isClaimed`` and ``isOnly`` (a bit each) and the outcome (6 bits).
    let word: UInt64

    init(fingerprint: UInt64, seq: UInt64, end: UInt8, isClaimed: Bool, isOnly: Bool) {
        self.fingerprint = fingerprint
        word = seq << 8 | UInt64(end) & 0x3f | (isClaimed ? Self.claimed : 0) | (isOnly ? Self.only : 0)
    }

    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        fingerprint = unsafe bytes.word(at: index * Self.size)
        word = unsafe bytes.word(at: index * Self.size + 8)
    }

    var seq: UInt64 { word >> 8 }
    var end: UInt8 { UInt8(word & 0x3f) }
    /// Whether the fingerprint counts as claimed, so that the device does not get this message id again.
    var isClaimed: Bool { word & Self.claimed != 0 }
    /// Whether the message was for one device, so that the fingerprint is also the audience of its ``AcceptedKey``.
    /// Early versions did not set this bit.
    var isOnly: Bool { word & Self.only != 0 }
}
