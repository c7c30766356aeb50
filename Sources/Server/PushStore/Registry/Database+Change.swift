import ActiveObject

extension Database {
    /// Writes a change of the registry.
    ///
    /// - Parameter files: The files that must still have their names, so that the change is not lost.
    /// - Throws: ``RegistryError`` `cannotWrite` if the disk is full or a file is gone. The caller can try again, and its
    ///   client does not learn the paths of this machine.
    func change<Result: Sendable>(
        among files: OpenedFiles, _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws -> Result {
        do {
            return try await write { transaction in
                guard files.fault == nil else {
                    throw RegistryError(
                        .cannotWrite,
                        "the registry cannot write: a file of the data directory was removed or replaced; see /readyz")
                }
                return try body(transaction)
            }
        } catch let error as ActiveObjectError where error.code == .diskFull {
            throw RegistryError(
                .cannotWrite,
                "the registry cannot write: the disk is full, or a limit of file sizes is reached; free disk space")
        }
    }
}
