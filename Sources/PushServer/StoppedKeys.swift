package import PushAdmin
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
    ) async throws -> AdminAnswer {
        let lock = try DataLock(directory: directory)
        let keys: RegistryKeys
        do {
            keys = try await RegistryKeys.open(directory: lock.directory)
        } catch let error as StoreError {
            throw StartError(error.code == .cannotOpen ? .notPermitted : .failed, error.description)
        }
        let registrar = await KeyRegistrar.open(keys, directory: lock.directory)
        let request = try HTTP1Request(
            method: method, target: target, headers: [:], body: body, peer: .local)
        let answer = await EndpointTable(KeyEndpoints.all(registrar)).answer(request)
        await keys.close()
        // The lock is released with its last use, which must not be before the file is closed.
        withExtendedLifetime(lock) {}
        return answer
    }
}
