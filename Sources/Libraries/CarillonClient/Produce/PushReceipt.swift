/// What became of a push.
public struct PushReceipt: Sendable, Hashable {
    /// Where the message is.
    public enum Status: Sendable, Hashable {
        /// Carillon has it on disk and carries it out.
        case accepted
        /// Carillon had accepted the same message before.
        case duplicate
        /// It is in the spool of this client, on disk, and is pushed when Carillon is back.
        case spooled
    }

    /// Where the message is.
    public let status: Status
    /// The number of the event `message.accepted`; nil if the message is in the spool.
    public let number: Int64?
    /// Mistakes that do no harm, such as a misspelt key in the payload.
    public let findings: [PushFinding]
    /// For a push to a family, the status in each of its apps; empty for a single app.
    public let apps: [String: Status]

    init(
        _ status: Status, number: Int64? = nil, findings: [PushFinding] = [], apps: [String: Status] = [:]
    ) {
        self.status = status
        self.number = number
        self.findings = findings
        self.apps = apps
    }
}

/// A mistake in a push that does no harm.
public struct PushFinding: Sendable, Hashable {
    /// The kind of mistake, such as `misspelt_key`.
    public let code: String
    /// The member, such as `aps.alert.title`.
    public let path: String
    /// One English sentence for people.
    public let detail: String
    /// The app of a family; nil for a push to a single app.
    public let app: String?

    init(code: String, path: String, detail: String, app: String? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.app = app
    }
}

/// What a cancellation did.
public enum CancelReceipt: Sendable, Hashable {
    /// What became of the message in one app of a family.
    public enum Status: Sendable, Hashable {
        /// It is cancelled.
        case cancelled
        /// It was complete.
        case tooLate
        /// The app does not know it.
        case unknown
    }

    /// The message is cancelled: `sent` deliveries had gone out, `cancelled` ones do not go out. For a family, these are
    /// sums, and `apps` has the status in each of its apps; it is empty for a single app.
    case cancelled(sent: Int64, cancelled: Int64, apps: [String: Status] = [:])
    /// The message was complete.
    case tooLate
}
