private import COpenSSL
private import Glibc
package import PushLoop

/// A certificate authority that issues certificates: its own root, and server and client certificates. All keys are
/// P-256.
package final class CertificateAuthority: Sendable {
    package let certificate: CertificateInfo
    let key: KeyHandle

    /// Creates a new root. A nil `validity` means from one hour ago for ten years.
    package init(commonName: String, validity: CertificateValidity? = nil) throws(CryptoError) {
        key = try KeyHandle.newP256()
        var draft = try CertificateDraft(
            subject: commonName, userID: nil, validity: validity ?? .startingNow(days: 3650), key: key)
        try draft.add(NID_basic_constraints, value: "critical,CA:TRUE")
        try draft.add(NID_key_usage, value: "critical,keyCertSign,cRLSign")
        try draft.add(NID_subject_key_identifier, value: "hash")
        certificate = CertificateInfo(try draft.signed(by: key))
    }

    init(_ certificate: X509Certificate, key: KeyHandle) {
        self.certificate = CertificateInfo(certificate)
        self.key = key
    }

    /// Loads an existing root from PEM.
    package init(certificate source: PEMSource, key keySource: PEMSource) throws(CryptoError) {
        let root = try source.certificates()[0]
        key = try keySource.privateKey(password: nil)
        OpenSSLErrors.clear()
        guard unsafe X509_check_private_key(root.pointer, key.pointer) == 1 else {
            throw CryptoError(
                .keyMismatch,
                message: "the key in \(keySource.name) does not belong to the certificate in \(source.name)")
        }
        guard unsafe X509_check_ca(root.pointer) > 0 else {
            throw CryptoError(.invalidRequest, message: "the certificate in \(source.name) is not a CA certificate")
        }
        certificate = CertificateInfo(root)
    }

    package var certificatePEM: String { certificate.pem }

    /// The private key of the root. Anyone who has it can issue certificates that all clients of this authority trust.
    package var privateKeyPEM: String { key.privatePEMText }

    package func issue(_ request: CertificateRequest) throws(CryptoError) -> IssuedCertificate {
        try request.make(signer: key, issuer: certificate.certificate)
    }

    /// Issues a self-signed certificate without an authority.
    package static func selfSigned(_ request: CertificateRequest) throws(CryptoError) -> IssuedCertificate {
        try request.make(signer: nil, issuer: nil)
    }
}

package struct CertificateValidity: Sendable {
    package var notBefore: WallTime
    package var notAfter: WallTime

    package init(notBefore: WallTime, notAfter: WallTime) {
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// Returns a validity that starts one hour ago, because clocks may differ.
    package static func startingNow(days: Int) -> CertificateValidity {
        let now = WallTime.current().milliseconds
        return CertificateValidity(
            notBefore: WallTime(milliseconds: now - 3_600_000),
            notAfter: WallTime(milliseconds: now + Int64(days) * 86_400_000))
    }
}

/// The content of a certificate to be issued.
package struct CertificateRequest: Sendable {
    package enum Usage: Sendable {
        case server
        case client
        case serverAndClient
    }

    /// An extension: its object identifier in dotted form, and its value as DER.
    package struct Extension: Sendable {
        package var oid: String
        package var value: [UInt8]
        package var isCritical: Bool

        package init(oid: String, value: [UInt8], isCritical: Bool = false) {
            self.oid = oid
            self.value = value
            self.isCritical = isCritical
        }
    }

    package var commonName: String
    package var usage: Usage
    package var dnsNames: [String]
    package var ipAddresses: [String]
    /// The UID attribute of the subject.
    package var userID: String?
    /// The validity. Nil means from one hour ago for 825 days.
    package var validity: CertificateValidity?
    package var extensions: [Extension]

    package init(
        commonName: String, usage: Usage, dnsNames: [String] = [], ipAddresses: [String] = [], userID: String? = nil,
        validity: CertificateValidity? = nil, extensions: [Extension] = []
    ) {
        self.commonName = commonName
        self.usage = usage
        self.dnsNames = dnsNames
        self.ipAddresses = ipAddresses
        self.userID = userID
        self.validity = validity
        self.extensions = extensions
    }

    /// Issues the certificate. If `signer` is nil, the new key signs its own certificate.
    fileprivate func make(signer: KeyHandle?, issuer: X509Certificate?) throws(CryptoError) -> IssuedCertificate {
        let key = try KeyHandle.newP256()
        var draft = try CertificateDraft(
            subject: commonName, userID: userID, validity: validity ?? .startingNow(days: 825), key: key,
            issuer: issuer)
        try draft.add(NID_basic_constraints, value: "critical,CA:FALSE")
        try draft.add(NID_key_usage, value: "critical,digitalSignature")
        let usages =
            switch usage {
            case .server: "serverAuth"
            case .client: "clientAuth"
            case .serverAndClient: "serverAuth,clientAuth"
            }
        try draft.add(NID_ext_key_usage, value: usages)
        try draft.add(NID_subject_key_identifier, value: "hash")
        if issuer != nil {
            try draft.add(NID_authority_key_identifier, value: "keyid:always")
        }
        let names = try alternativeNames()
        if !names.isEmpty {
            try draft.add(NID_subject_alt_name, value: names)
        }
        for one in extensions {
            try draft.add(one)
        }
        let certificate = try draft.signed(by: signer ?? key)
        return IssuedCertificate(certificate: CertificateInfo(certificate), key: key)
    }

    /// Returns the names in OpenSSL's notation. A comma would start another name there, so the characters are checked
    /// strictly.
    private func alternativeNames() throws(CryptoError) -> String {
        var names: [String] = []
        for name in dnsNames {
            let isPlain = name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "*"): true
                default: false
                }
            }
            guard isPlain, (1...253).contains(name.utf8.count) else {
                throw CryptoError(.invalidRequest, message: "not a host name: \"\(printable(name))\"")
            }
            names.append("DNS:\(name)")
        }
        for address in ipAddresses {
            var parsed = in6_addr()
            guard unsafe inet_pton(AF_INET, address, &parsed) == 1 || inet_pton(AF_INET6, address, &parsed) == 1 else {
                throw CryptoError(.invalidRequest, message: "not an IP address: \"\(printable(address))\"")
            }
            names.append("IP:\(address)")
        }
        return names.joined(separator: ",")
    }
}

/// A new certificate and its private key.
package struct IssuedCertificate: Sendable {
    package let certificate: CertificateInfo
    let key: KeyHandle

    fileprivate init(certificate: CertificateInfo, key: KeyHandle) {
        self.certificate = certificate
        self.key = key
    }

    package var certificatePEM: String { certificate.pem }
    package var privateKeyPEM: String { key.privatePEMText }
}
