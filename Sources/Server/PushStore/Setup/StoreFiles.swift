import Glibc
import PushModel

/// Facts about the files of a single node.
package enum StoreFiles {
    /// The newest version of `ledger.db` that this program can read.
    package static var newestLedger: Int64 { LedgerSchema.version }

    /// What is wrong if the two databases of a directory do not belong together, as far as it can be found out. Another
    /// process may write them.
    package static func mismatch(in directory: String) -> StoreMismatch? {
        identities(at: "\(directory)/ledger.db").flatMap { identities in
            RegistryMark.glance(at: "\(directory)/registry.db").mismatch(with: identities)
        }
    }

    private static func identities(at path: String) -> Identities? {
        guard unsafe access(path, R_OK) == 0, let connection = try? SQLiteConnection(path, mode: .immutable),
            let version = try? LedgerSchema.version(of: connection), version > 0
        else { return nil }
        return try? LedgerSchema.identities(connection)
    }
}
