import Glibc
import PushGateways

/// `carillon keys`: what the files of keys and certificates hold, and how to get them into shape.
enum KeysVerb {
    static let verb = Verb(
        name: "keys", summary: "look into keys and certificates, and convert them",
        verbs: [KeysShowVerb.verb, KeysConvertVerb.verb, KeysCurveVerb.verb])

    static let passwordOption = Option(
        "password-file", "F",
        "a file with the password alone in it; without this option the environment variable\n"
            + "CARILLON_KEY_PASSWORD is taken, if it is set")

    /// What a file holds; every error of it is bad input.
    static func read(_ path: String, _ arguments: Arguments) throws -> KeyFile {
        do {
            let password = try CredentialFiles.password(in: arguments.text("password-file")) ?? environmentPassword
            return try KeyFile.read(path, password: password)
        } catch {
            guard error.code == .missingPassword else { throw Failure(.badInput, "\(error)") }
            throw Failure(.badInput, "\(error): --password-file FILE, or the variable CARILLON_KEY_PASSWORD")
        }
    }

    private static var environmentPassword: String? {
        getenv("CARILLON_KEY_PASSWORD").map { String(cString: $0) }
    }

    /// A path as it stands in the configuration.
    static func quoted(_ path: String) -> String {
        "\"" + path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
