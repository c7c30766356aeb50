import APNs
import Glibc
import PushGateways

/// `carillon keys`: shows, converts and creates keys and certificates.
enum KeysVerb {
    static let verb = Verb(
        name: "keys", summary: "show, convert and create keys and certificates",
        verbs: [KeysShowVerb.verb, KeysConvertVerb.verb, KeysCurveVerb.verb, KeysAPIVerb.verb])

    static let passwordOption = Option(
        "password-file", value: "FILE",
        about: "a file that contains only the password (else the environment variable "
            + "CARILLON_KEY_PASSWORD, if it is set)")

    /// Reads a key or certificate file. All errors are reported as bad input.
    static func read(_ path: String, with arguments: Arguments) throws -> KeyFile {
        do {
            let password = try CredentialFiles.password(in: arguments.text("password-file")) ?? environmentPassword
            return try KeyFile.read(path, password: password)
        } catch {
            guard error.code == .missingPassword else { throw Failure(.badInput, "\(error)") }
            throw Failure(.badInput, "\(error): give --password-file FILE, or set CARILLON_KEY_PASSWORD")
        }
    }

    private static var environmentPassword: String? {
        getenv("CARILLON_KEY_PASSWORD").map { String(cString: $0) }
    }

    /// Returns a path as a string literal for the configuration.
    static func quoted(_ path: String) -> String {
        "\"" + path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
