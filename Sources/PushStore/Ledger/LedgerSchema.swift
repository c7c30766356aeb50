import PushWire

/// The tables of the ledger. Rows are written at the end and removed at the front; nothing that happens for each message
/// or delivery writes at a random place.
enum LedgerSchema {
    static let version: Int64 = 1

    /// - `meta`: `secret`, what names are hashed with; `age`, the time of `AgeClock`, and `age_ahead_since`, since when the
    ///   wall clock is ahead of it; `probe`, which tries whether there is room.
    /// - `log`: events, a group a row (`LogSegment`); `heads`: the last number of each topic.
    /// - `messages`: accepted messages until all of a row are done. `heads`: for each, where it begins in `bodies`
    ///   (u32), its priority (u8), whether it is broad (u8) and its place in `apps` (u16).
    /// - `scheduled`: those with a time before which nobody gets them, until they are done.
    /// - `keys`: what is deduped by, a group a row, whose number is that of the group's first event: `accepted` 24 bytes
    ///   a message in the order of their numbers (fingerprint, content, audience), `ended` 16 bytes a delivery
    ///   (fingerprint, message and how; of a message for one device only where it was scheduled or waited for long),
    ///   `completed` 8 bytes a message.
    /// - `trace_runs`: parts of the log sorted by what is told of (`TraceRun`), and `trace_blocks`: their entries, block by
    ///   block, from the number of the run's first event on.
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

/// What is kept of an accepted message for as long as its id is remembered.
struct AcceptedKey: Equatable {
    static let size = 24

    let fingerprint: UInt64
    /// A hash of payload and options. The lowest bit says whether it was the first of its id and for one named device:
    /// that delivery, whose fingerprint is `audience`, is not claimed until there is a second message of that id.
    private(set) var content: UInt64
    let audience: UInt64

    init(fingerprint: UInt64, content: UInt64, audience: UInt64, isSingle: Bool) {
        self.fingerprint = fingerprint
        self.content = content & ~1 | (isSingle ? 1 : 0)
        self.audience = audience
    }

    /// As it is kept.
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

/// What is kept of a delivery that has ended.
struct EndedKey {
    static let size = 16
    private static let claimed: UInt64 = 0x80
    private static let only: UInt64 = 0x40

    let fingerprint: UInt64
    /// The message's number, how it ended, whether the fingerprint is one of those that are claimed, and whether it is
    /// that of a message for one device.
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
    var isClaimed: Bool { word & Self.claimed != 0 }
    /// The delivery of a message for one device, whose fingerprint is that message's audience, too. Versions that did not
    /// know this left it out.
    var isOnly: Bool { word & Self.only != 0 }
}
