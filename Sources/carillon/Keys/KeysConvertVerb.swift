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

/// A secret written to a file: whole or not at all, for its owner's eyes.
private enum NewFile {
    static func write(_ secret: Secret<String>, to path: String, replacing: Bool) throws {
        let taken = Failure(.notPermitted, "\(path) exists already; --force replaces it")
        // Asked first for the clearer answer; that nothing is replaced is seen to by `link`.
        if !replacing, access(path, F_OK) == 0 { throw taken }
        let draft = "\(path).\(getpid()).new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { unlink(draft) }
        let isWritten = secret.withRevealed { text in
            writeAll(Array(text.utf8), to: descriptor) && fsync(descriptor) == 0
        }
        let error = failure(path)
        guard close(descriptor) == 0, isWritten else { throw error }
        guard (replacing ? rename(draft, path) : link(draft, path)) == 0 else {
            throw errno == EEXIST ? taken : failure(path)
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    private static func failure(_ path: String) -> Failure {
        Failure(.notPermitted, "cannot write \(path): \(SystemError.current); choose another place with --out")
    }
}
