import Glibc
import PushConfiguration
import PushLoop

/// A data directory on which no Carillon runs, for commands that read all of it.
package enum StoppedDirectory {
    /// Returns the result of `body`. The directory is locked meanwhile, so that no Carillon can start on it.
    ///
    /// - Throws: ``StartError`` if there is no such directory, if it cannot be used, or if a Carillon runs on it.
    package static func locked<Result>(_ directory: String, body: () async throws -> Result) async throws -> Result {
        guard access(directory, F_OK) == 0 else {
            throw StartError(.badInput, "cannot open the data directory \(directory): \(SystemError.current)")
        }
        let lock = try DataLock(directory: directory)
        let result = try await body()
        // The lock is released with its last use.
        withExtendedLifetime(lock) {}
        return result
    }
}
