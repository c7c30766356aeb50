import ActiveObject

extension Database {
    /// Writes a change of the registry.
    ///
    /// - Throws: ``RegistryError`` `cannotWrite` if the disk is full. The caller can try again, and its client does not
    ///   learn the paths of this machine.
    func change<Result: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Result) async throws -> Result {
        do {
            return try await write(body)
        } catch let error as ActiveObjectError where error.code == .diskFull {
            throw RegistryError(
                .cannotWrite,
                "the registry cannot write: the disk is full, or a limit of file sizes is reached; free disk space")
        }
    }
}
