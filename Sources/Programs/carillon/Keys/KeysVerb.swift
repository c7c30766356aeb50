import APNs
import Glibc
import PushConfiguration
import PushModel
import PushTime
import PushWire

/// `carillon keys`: shows, converts and creates keys and certificates.
enum KeysVerb {
    static let verb = Verb(
        name: "keys", summary: "show, convert and create keys and certificates",
        verbs: [
            KeysShowVerb.verb, KeysConvertVerb.verb, KeysCurveVerb.verb, KeysVAPIDVerb.verb, KeysWebhookVerb.verb,
            KeysAPIVerb.verb,
        ])

    static let passwordOption = Option(
        "password-file", value: "FILE",
        about: "a file that contains only the password (else the environment variable "
            + "CARILLON_KEY_PASSWORD, if it is set)")

    /// Describes a file of a credential. All errors are reported as bad input.
    static func describe(
        _ path: String, with arguments: Arguments, at now: WallTime
    ) throws(Failure) -> CredentialFileDescription {
        try withPassword(arguments) { try PushServices.describeCredential(in: path, password: $0, at: now) }
    }

    /// Reads a key or certificate file. All errors are reported as bad input.
    static func read(_ path: String, with arguments: Arguments) throws(Failure) -> KeyFile {
        try withPassword(arguments) { try KeyFile.read(path, password: $0) }
    }

    private static func withPassword<Value>(
        _ arguments: Arguments, read: (_ password: String?) throws -> Value
    ) throws(Failure) -> Value {
        do {
            return try read(CredentialFiles.password(in: arguments.text("password-file")) ?? environmentPassword)
        } catch {
            guard (error as? CredentialError)?.code == .missingPassword else { throw Failure(.badInput, "\(error)") }
            throw Failure(.badInput, "\(error): give --password-file FILE, or set CARILLON_KEY_PASSWORD")
        }
    }

    private static var environmentPassword: String? {
        getenv("CARILLON_KEY_PASSWORD").map { String(cString: $0) }
    }

    /// Returns a path as a string literal for the configuration.
    static func quoted(_ path: String) -> String { CredentialFileDescription.quoted(path) }
}
