import FoundationEssentials
import Glibc
import PushLoop
import PushTransport

/// Functions that find and read the file with the configuration.
package enum ConfigurationFile {
    package static let variable = "CARILLON_CONFIG"
    package static let defaultPaths = ["./carillon.json5", "/etc/carillon/carillon.json5"]
    /// The maximum size in bytes, far above that of any real configuration.
    private static let maxSize = 4 << 20

    /// Returns the path from `flag`, or else from the variable, or else the first usual place that exists; nil if there
    /// is none.
    package static func locate(
        flag: String?, environment: [String: String], defaultPaths: [String] = defaultPaths
    ) -> String? {
        if let flag { return flag }
        if let path = environment[variable], !path.isEmpty { return path }
        // F_OK also finds a file that this user may not read. Reading it then fails with the reason.
        return defaultPaths.first { access($0, F_OK) == 0 }
    }

    package static func notFound(defaultPaths: [String] = defaultPaths) -> StartError {
        StartError(
            .configuration,
            "cannot find a configuration: neither --config FILE nor \(variable) is given, and there is no file "
                + "\(defaultPaths.joined(separator: " or "))")
    }

    package static func read(_ path: String) throws(StartError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            let descriptor = try BoundedFile.openToRead(path)
            defer { close(descriptor) }
            bytes = try BoundedFile.read(from: descriptor, limit: maxSize)
        } catch {
            throw cannotRead(path, because: error)
        }
        guard bytes.count <= maxSize else {
            throw StartError(.configuration, "\(path) is larger than \(maxSize >> 20) MiB; it is not a configuration")
        }
        return bytes
    }

    private static func cannotRead(_ path: String, because error: SystemError) -> StartError {
        let advice =
            switch error.number {
            case ENOENT: "there is no such file; name another with --config or \(variable)"
            case EACCES: "this user may not read it"
            default: "\(error)"
            }
        return StartError(error.number == EACCES ? .notPermitted : .configuration, "cannot read \(path): \(advice)")
    }
}

extension Configuration {
    /// Finds, reads and parses the configuration for a command.
    ///
    /// - Throws: a ``StartError`` that describes all faults.
    package static func load(
        file flag: String?, flags: [String: String] = [:],
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StartError) -> (file: String, parsed: Parsed) {
        guard let file = ConfigurationFile.locate(flag: flag, environment: environment) else {
            throw ConfigurationFile.notFound()
        }
        let text = try ConfigurationFile.read(file)
        do {
            return (file, try parse(text, file: file, environment: environment, flags: flags))
        } catch {
            throw error.failure
        }
    }

    /// Returns the data directory, for commands that talk to a running Carillon. Other faults of the file are ignored,
    /// so that these commands work while somebody edits it.
    package static func dataDirectory(
        flag: String?, file configFlag: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StartError) -> String {
        if let flag { return flag }
        if configFlag == nil, let path = environment["CARILLON_DATA"], !path.isEmpty { return path }
        guard let file = ConfigurationFile.locate(flag: configFlag, environment: environment) else {
            let failure = ConfigurationFile.notFound()
            throw StartError(failure.code, "\(failure); or name the data directory with --data DIR")
        }
        let text = try ConfigurationFile.read(file)
        do {
            let reader = ConfigurationReader(file: file, environment: environment, flags: [:])
            let root = reader.root(try tree(text, file: file))
            var defaults = Configuration()
            defaults.data = FilePath.resolve(defaults.data, besideFile: file)
            let draft = [ConfigurationDraft.data].read(from: root, into: ConfigurationDraft(defaults))
            guard reader.faults.isEmpty else { throw ConfigurationError(faults: reader.faults) }
            return draft.values.data
        } catch let error as ConfigurationError {
            throw StartError(error.failure.code, "\(error.failure)\(Self.namesDirectory)")
        } catch {
            throw StartError(.configuration, "\(file): \(error)\(Self.namesDirectory)")
        }
    }

    /// The end of an error about a file from which only the data directory was wanted.
    private static var namesDirectory: String {
        "\nthe data directory is named in this file: correct it, or name the directory with --data DIR"
    }

    /// Returns the names of the apps in the file, whatever its other faults.
    package static func appNames(
        file flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StartError) -> [String] {
        guard let file = ConfigurationFile.locate(flag: flag, environment: environment) else {
            throw ConfigurationFile.notFound()
        }
        let text = try ConfigurationFile.read(file)
        do {
            let reader = ConfigurationReader(file: file, environment: environment, flags: [:])
            return reader.root(try tree(text, file: file)).named("apps").map(\.name)
        } catch {
            throw error.failure
        }
    }
}
