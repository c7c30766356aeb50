import FoundationEssentials
import Glibc
import PushLoop
import PushTransport

/// Finds the file that the configuration is in, and reads it.
enum ConfigurationFile {
    static let variable = "CARILLON_CONFIG"
    static let usualPlaces = ["./carillon.json5", "/etc/carillon/carillon.json5"]
    /// Far above any that a person wrote.
    private static let longest = 4 << 20

    /// `flag`, else the variable, else the first of the usual places that there is; nil if there is none of these.
    static func locate(
        flag: String?, environment: [String: String], usualPlaces: [String] = usualPlaces
    ) -> String? {
        if let flag { return flag }
        if let path = environment[variable], !path.isEmpty { return path }
        // What is there but may not be read is found too, so that reading says why.
        return usualPlaces.first { access($0, F_OK) == 0 }
    }

    static func notFound(usualPlaces: [String] = usualPlaces) -> Failure {
        Failure(
            .configuration,
            "there is no configuration: neither --config FILE nor \(variable) is given, and there is no "
                + "\(usualPlaces.joined(separator: " and no "))")
    }

    static func read(_ path: String) throws(Failure) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            let descriptor = try BoundedFile.openToRead(path)
            defer { close(descriptor) }
            bytes = try BoundedFile.read(from: descriptor, limit: longest)
        } catch {
            throw cannotRead(path, error)
        }
        guard bytes.count <= longest else {
            throw Failure(.configuration, "\(path) is longer than \(longest >> 20) MiB: that is no configuration")
        }
        return bytes
    }

    private static func cannotRead(_ path: String, _ error: SystemError) -> Failure {
        let advice =
            switch error.number {
            case ENOENT: "there is no such file; give another with --config or \(variable)"
            case EACCES: "this user may not read it"
            default: "\(error)"
            }
        return Failure(error.number == EACCES ? .notPermitted : .configuration, "cannot read \(path): \(advice)")
    }
}

extension Configuration {
    /// For verbs: finds, reads and parses, and says in a `Failure` what is wrong.
    static func load(
        file flag: String?, flags: [String: String] = [:],
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) -> (file: String, parsed: Parsed) {
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

    /// The data directory alone, for verbs that talk to a running Carillon: whatever else is wrong with a file that
    /// somebody is editing does not keep them from it.
    static func dataDirectory(
        flag: String?, file configFlag: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) -> String {
        if let flag { return flag }
        if configFlag == nil, let path = environment["CARILLON_DATA"], !path.isEmpty { return path }
        guard let file = ConfigurationFile.locate(flag: configFlag, environment: environment) else {
            let failure = ConfigurationFile.notFound()
            throw Failure(failure.code, "\(failure); or name the data directory with --data DIR")
        }
        let text = try ConfigurationFile.read(file)
        do {
            let reader = ConfigurationReader(file: file, environment: environment, flags: [:])
            let path = reader.root(try tree(text, file: file)).path("data")
            guard reader.faults.isEmpty else { throw ConfigurationError(faults: reader.faults) }
            return path ?? FilePlace.resolve(Configuration().data, besideFile: file)
        } catch let error as ConfigurationError {
            throw error.failure
        } catch {
            throw Failure(.configuration, "\(file): \(error)")
        }
    }
}
