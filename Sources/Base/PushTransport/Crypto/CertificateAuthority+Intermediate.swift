private import COpenSSL

extension CertificateAuthority {
    /// Issues the certificate of an intermediate authority, which issues leaves and no further authorities.
    ///
    /// - Parameters:
    ///   - validity: Nil means from one hour ago for 825 days.
    ///   - extensions: Extensions besides those of every authority.
    package func issueAuthority(
        commonName: String, validity: CertificateValidity? = nil, extensions: [CertificateRequest.Extension] = []
    ) throws(CryptoError) -> CertificateAuthority {
        let newKey = try KeyHandle.newP256()
        var draft = try CertificateDraft(
            subject: commonName, userID: nil, validity: validity ?? .startingNow(days: 825), key: newKey,
            issuer: certificate.certificate)
        try draft.add(NID_basic_constraints, value: "critical,CA:TRUE,pathlen:0")
        try draft.add(NID_key_usage, value: "critical,keyCertSign,cRLSign")
        try draft.add(NID_subject_key_identifier, value: "hash")
        try draft.add(NID_authority_key_identifier, value: "keyid:always")
        for one in extensions {
            try draft.add(one)
        }
        return CertificateAuthority(try draft.signed(by: key), key: newKey)
    }
}
