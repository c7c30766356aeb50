package import PushModel
package import PushTime

/// A push service without an app: what its folder gives to the verbs of the command line and to the documents.
package struct PushService: Sendable {
    /// Reads a file of a credential of this service. It blocks, and never prompts for a password.
    package typealias ReadCredential =
        @Sendable (_ path: String, _ password: String?, _ now: WallTime) throws -> CredentialFileDescription

    package let description: ServiceDescription
    package let reasons: ReasonTable
    /// Reads the addresses of apps that are not in the configuration.
    package let codec: any ServiceCodec
    /// Throws if the file cannot be read, or has nothing of this service.
    package let readCredential: ReadCredential

    package init(
        _ description: ServiceDescription, reasons: ReasonTable, codec: any ServiceCodec,
        readCredential: @escaping ReadCredential
    ) {
        self.description = description
        self.reasons = reasons
        self.codec = codec
        self.readCredential = readCredential
    }
}

/// What a file of a credential contains, without its secrets.
package struct CredentialFileDescription: Sendable {
    /// A line about the content.
    package enum Fact: Sendable {
        case text(_ name: String, String)
        /// The begin of its validity.
        case begins(WallTime)
        /// The end of its validity.
        case ends(WallTime)

        /// The name by which a description has a fact once.
        var name: String {
            switch self {
            case .text(let name, _): name
            case .begins: "valid from"
            case .ends: "expires"
            }
        }
    }

    /// The content, such as "a provider key (PEM)".
    package let content: String
    package let facts: [Fact]
    /// What to do with the file, as the end of a paragraph that begins with "Next:".
    package let next: String
    /// The members in JSON, besides the name of the file.
    package let members: [String: JSONValue]
    /// Whether the file is certainly one of this service, so that no other one has to describe it.
    package var isCertain = true

    package init(content: String, facts: [Fact], next: String, members: [String: JSONValue]) {
        self.content = content
        self.facts = facts
        self.next = next
        self.members = members
    }

    /// Returns the description of a file that another service can use, too, as it describes it: a key of one kind may
    /// serve several. Facts and members of the same name are those of this description.
    package func or(_ other: CredentialFileDescription) -> CredentialFileDescription {
        let names = Set(facts.map(\.name))
        return CredentialFileDescription(
            content: "\(content), or \(other.content)", facts: facts + other.facts.filter { !names.contains($0.name) },
            next: "\(next)\n\nOr: \(other.next)", members: other.members.merging(members) { $1 })
    }

    /// Returns a path as a string literal for the configuration.
    package static func quoted(_ path: String) -> String {
        var quoted: [UInt8] = []
        JSONText.appendQuoted(path, to: &quoted)
        return String(decoding: quoted, as: UTF8.self)
    }
}
