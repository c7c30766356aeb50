import Glibc
import PushGateways
import PushLoop

/// `carillon keys convert`: writes a key and its certificates as PEM, which needs no password and no obsolete algorithms.
enum KeysConvertVerb {
    static let verb = Verb(
        name: "keys convert", summary: "write the key and the certificates of a .p12 as PEM",
        words: [Word("FILE", about: "a .p12 file, or a .pem whose key is encrypted")],
        options: [
            Option(
                "out", value: "FILE", about: "the file to write; its key is not encrypted, and readable only by you"),
            KeysVerb.passwordOption,
            Option("force", about: "overwrite an existing file"),
        ],
        examples: [
            (
                "carillon keys convert push.p12 --out push.pem --password-file password.txt",
                "convert a file that was exported from a keychain"
            )
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        guard let out = arguments.text("out") else {
            throw Failure(.usage, "no output file: give --out FILE")
        }
        guard case .certificate(let credential, _) = try KeysVerb.read(path, with: arguments) else {
            throw Failure(
                .badInput,
                "\(path) does not contain a certificate with its private key; 'carillon keys show' shows its contents")
        }
        let identity = credential.identity
        try NewFile.write(
            Secret(identity.privateKeyPEM + identity.certificatesPEM), to: out, replacing: arguments.has("force"))
        let info = credential.certificate.info
        Terminal.output.write(
            """
            Wrote \(out): the private key (\(identity.keyKind)) and the certificate of \(info.subject).
            The file is not encrypted, and readable only by you.

            Next: name it in the configuration of an app, and store \(path) in a safe place:
              credential: { certificate: \(KeysVerb.quoted(out)) }

            """)
        if WallTime.current() >= info.notAfter {
            Terminal.error.write("carillon keys convert: the certificate expired at \(info.notAfter.utcText)\n")
        }
        return .done
    }
}
