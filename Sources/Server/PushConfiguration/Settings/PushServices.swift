import APNs
import FCM
package import PushLoop
package import PushModel
package import PushWire
import WebPush

/// The push services that Carillon can send to, one line for each.
package enum PushServices {
    package static let all: [PushService] = [.apns, .fcm, .webPush]

    /// Reads the addresses of apps that are not in the configuration.
    package static let unconfigured: any ServiceCodec = all[0].codec
    /// Returns the codec that reads an address which a person gave, where no app says which service it is: that of the
    /// first service that can read it. A short text, or one of hexadecimal digits, is one of the first service that was
    /// cut off, and its codec says so.
    package static func codec(reading text: String) -> any ServiceCodec {
        guard text.utf8.count >= minOpaqueLength, !text.allSatisfy({ $0.isHexDigit || $0 == " " }) else {
            return unconfigured
        }
        return all.first { (try? $0.codec.address(pastedAs: text)) != nil }?.codec ?? unconfigured
    }

    /// The length of the shortest address that is not one of hexadecimal digits.
    private static let minOpaqueLength = 22

    /// The types of messages of all services.
    package static let messageTypes: [MessageType] = all.flatMap(\.codec.types.all).reduce(into: []) { types, type in
        // Services share words for what means the same.
        if !types.contains(where: { $0.word == type.word }) { types.append(type) }
    }

    /// Returns the table that has this reason, where nothing says which service gave it; nil if none has it.
    package static func reasons(knowing reason: ProviderReason?) -> ReasonTable? {
        all.map(\.reasons).first { $0.known(reason) != nil }
    }

    /// What to check if a push service rejects too many addresses of an app, where nothing says which service it is.
    package static let misdirection = all.filter {
        $0.reasons.misdirected != nil
    }.map(\.description.misdirection).joined(separator: "; or ")

    /// Describes a file of a credential, as each service that can use it does. It blocks.
    ///
    /// - Throws: the error of the first service if the file is not one of any service.
    package static func describeCredential(
        in path: String, password: String?, at now: WallTime
    ) throws -> CredentialFileDescription {
        var first: (any Error)?
        var description: CredentialFileDescription?
        for service in all {
            do {
                let read = try service.readCredential(path, password, now)
                description = description?.or(read) ?? read
                if read.isCertain { break }
            } catch {
                first = first ?? error
            }
        }
        guard let description else { throw first! }
        return description
    }
}
