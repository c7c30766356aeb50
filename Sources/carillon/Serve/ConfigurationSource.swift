import FoundationEssentials

/// The place that the configuration was read from, to read it again.
struct ConfigurationSource: Sendable {
    let file: String
    let flags: [String: String]

    /// Blocks. Throws `Failure` if the file cannot be read, `ConfigurationError` for what is wrong in it.
    func read() throws -> Configuration.Parsed {
        try Configuration.parse(
            try ConfigurationFile.read(file), file: file, environment: ProcessInfo.processInfo.environment,
            flags: flags)
    }
}
