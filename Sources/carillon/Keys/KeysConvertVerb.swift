import Glibc
import PushGateways
import PushLoop

/// `carillon keys convert`: a key with its certificates as PEM, which needs no password and no old algorithms.
enum KeysConvertVerb {
    static let verb = Verb(
        name: "keys convert", summary: "write the key and the certificates of a .p12 as PEM",
        words: [Word("FILE", "a .p12 file, or a .pem whose key is encrypted")],
        options: [
            Option("out", "FILE", "where to write; the key in it is not encrypted, and readable by you alone"),
            KeysVerb.passwordOption,
            Option("force", "replace the file if there is one"),
        ],
        examples: [
            (
                "carillon keys convert push.p12 --out push.pem --password-file password.txt",
                "from what a keychain exports to what needs no password"
            )
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        guard let out = arguments.text("out") else {
            throw Failure(.usage, "it wants to know where to write: --out FILE")
        }
        guard case .certificate(let credential, _) = try KeysVerb.read(path, arguments) else {
            throw Failure(
                .badInput,
                "\(path) does not hold a certificate with its private key; 'carillon keys show' says what it holds")
        }
        let identity = credential.identity
        try NewFile.write(
            Secret(identity.privateKeyPEM + identity.certificatesPEM), to: out, replacing: arguments.has("force"))
        let info = credential.certificate.info
        Terminal.output.write(
            """
            Wrote \(out): the private key (\(identity.keyKind)) and the certificate of \(info.subject).
            It is not encrypted, and readable by you alone.

            Next: name it in the configuration of an app, and put \(path) away:
              credential: { certificate: \(KeysVerb.quoted(out)) }

            """)
        if WallTime.current() >= info.notAfter {
            Terminal.error.write("carillon keys convert: the certificate expired at \(info.notAfter.utcText)\n")
        }
        return .done
    }
}
