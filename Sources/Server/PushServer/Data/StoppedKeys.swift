import Glibc
package import PushAPI
import PushConfiguration
import PushStore
package import PushTransport

/// Changes the API keys of a data directory on which no Carillon runs.
package enum StoppedKeys {
    /// Answers one request for `/v1/keys` with the files of the directory, which is locked meanwhile and created if it
    /// does not exist.
    ///
    /// - Throws: ``StartError`` if the directory or its files cannot be used, or if a Carillon runs on it.
    package static func answer(
        _ method: HTTP1Method, at target: String, body: [UInt8], directory: String
    ) async throws -> APIAnswer {
        let lock = try DataLock(directory: directory)
        let new = [BackupFile.registry, BackupFile.sealingKey].filter { !BackupFile.exists("\(lock.directory)/\($0)") }
        let keys: RegistryKeys
        do {
            keys = try await RegistryKeys.open(directory: lock.directory)
        } catch let error as StoreError {
            throw StartError(error.code == .cannotOpen ? .notPermitted : .failed, error.description)
        }
        let registrar = await KeyRegistrar.open(keys, directory: lock.directory)
        let request = try HTTP1Request(
            method: method, target: target, headers: [:], body: body, peer: .local)
        let apps = AppCatalog(nil, others: PushServices.unconfigured)
        let answer = await EndpointTable(KeyEndpoints.all(registrar, apps: apps)).answer(request)
        await keys.close()
        for change in answer.changes { try PendingOperators(directory: lock.directory).add(change) }
        for name in new { giveToOwner(name, in: lock.directory) }
        // The lock is released with its last use, which must not be before the file is closed.
        withExtendedLifetime(lock) {}
        return answer
    }

    /// Gives a file that was made with the first key of a directory to the user of the directory.
    private static func giveToOwner(_ name: String, in directory: String) {
        let descriptor = open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        // That user may have put another file in its place.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else { return }
        BackupFile.giveToOwner(descriptor, of: directory)
    }
}
