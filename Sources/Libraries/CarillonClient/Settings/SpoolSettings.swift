/// Where messages are kept on disk while Carillon is away, and how many.
public struct SpoolSettings: Sendable {
    /// The directory. It is made if it does not exist. One process at a time may use it.
    public var directory: String
    /// The bytes on disk, at most. A push that does not fit throws ``PushError/spoolFull``.
    public var maxBytes: Int64 = 1 << 30
    /// The size from which on a new file is begun; a sixteenth of ``maxBytes`` if that is less. A file is deleted when all
    /// of its messages are acknowledged.
    public var segmentBytes: Int64 = 16 << 20
    /// The time that a push waits for Carillon before it goes to the spool.
    public var answerWithin = Duration.seconds(2)
    /// The time for which a message stays in the spool, by the wall clock. An older one is removed and refused with
    /// ``PushRefusal/Reason/tooOld``. Keep it below `dedupe.window` of Carillon: of a message that was sent before and
    /// not answered, Carillon remembers the id only for so long, and would send it once more.
    public var maxAge = Duration.seconds(6 * 86_400)
    /// Called for each message from the spool that Carillon refuses, or that is older than ``maxAge``. It is then removed
    /// from the spool.
    public var onRefused: @Sendable (_ id: String, _ app: String, _ refusal: PushRefusal) -> Void = { _, _, _ in }

    /// Creates settings.
    public init(directory: String) {
        self.directory = directory
    }

    func check() throws(ClientError) {
        guard !directory.isEmpty, maxBytes >= 4096, segmentBytes >= 4096, answerWithin > .zero,
            maxAge > answerWithin
        else {
            throw .invalidSetting(
                "a spool needs a directory, at least 4096 bytes, a time above 0, and maxAge above that time")
        }
    }
}
