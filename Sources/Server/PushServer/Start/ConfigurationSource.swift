import FoundationEssentials
package import PushConfiguration

/// The file and the flags of the configuration, from which a reload reads it again.
package struct ConfigurationSource: Sendable {
    package let file: String
    package let flags: [String: String]

    package init(
        file: String,
        flags: [String: String]
    ) {
        self.file = file
        self.flags = flags
    }

    /// Reads and parses the configuration. It blocks.
    ///
    /// - Throws: `StartError` if the file cannot be read, `ConfigurationError` if it has faults.
    package func read() throws -> Configuration.Parsed {
        try Configuration.parse(
            try ConfigurationFile.read(file), file: file, environment: ProcessInfo.processInfo.environment,
            flags: flags)
    }
}
