import PushAPI
import PushConfiguration
import PushGateways
import PushModel
import PushServer
import PushTime

/// What was found out about an installation, from which ``Diagnosis`` draws conclusions. Unknown facts are nil or empty.
struct DoctorFacts: Sendable {
    /// The version of this program.
    var version = Release.version
    var now = WallTime.current()

    // MARK: Configuration

    /// The path of the configuration.
    var file: String?
    /// The reasons why the configuration cannot be read, and its warnings.
    var configuration: (faults: [String], warnings: [String]) = ([], [])
    /// Warnings about files with secrets that others can read.
    var cautions: [String] = []
    /// The faults that would prevent a start.
    var startFaults: [StartError] = []
    var apps: [App] = []
    /// The certificate of the HTTP port.
    var serverCertificate: ServerCertificateCheck?
    /// The HTTP connections that the configuration allows, and those that the limit of open files leaves.
    var httpConnections: (wanted: Int, allowed: Int)?

    struct App: Sendable {
        let name: String
        /// The address of its push service.
        let service: String
        /// The fault of its credential or other files.
        var fault: String?
        var warnings: [String] = []
        /// The end of its certificate.
        var expiresAt: WallTime?
        /// What to do about a credential that expires.
        var renewal: String?
        /// The result of a connection to its push service.
        var verdict: Verdict?
    }

    // MARK: Machine

    var directory: String?
    var disk: InstallationFacts.Disk?
    /// Whether an NTP service keeps the clock of the machine; nil if that is unknown.
    var isClockSynchronized: Bool?
    var memory: (available: UInt64, total: UInt64)?
    /// The time zone database: where it is, and how many zones it has.
    var zones: (directory: String, count: Int)?

    // MARK: Stored data

    var ledger: InstallationFacts.StoredFile?
    var registry: InstallationFacts.StoredFile?
    /// Whether the last run ended without removing its mark.
    var hasRunMark = false
    /// Whether Carillon is known to have run on the directory.
    var hasRun = false
    /// The last `carillon backup` of a directory that has a ledger.
    var lastBackup: BackupRecord.Last?
    var database: (faults: [String], warnings: [String]) = ([], [])

    // MARK: The running Carillon

    var process: Process = .none
    var isExecutableReplaced = false
    /// The limit of open files of the running process, and how many it has open.
    var descriptors: (open: Int, limit: Int)?
    var runningVersion: String?
    /// What it finds wrong itself.
    var found: [Finding] = []

    enum Process: Sendable, Equatable {
        /// The word for it in JSON, from a closed set.
        var word: String {
            switch self {
            case .none: "stopped"
            case .running: "running"
            case .silent: "not_answering"
            case .forbidden: "not_permitted"
            }
        }

        case none
        case running
        /// A process has the lock, but does not answer, for this reason. The id of the process may be unknown.
        case silent(String, holder: Int32?)
        /// This user may not ask it.
        case forbidden(String)
    }
}
