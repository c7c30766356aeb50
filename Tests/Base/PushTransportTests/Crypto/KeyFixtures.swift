/// Keys of kinds that the product does not create. They were created for these tests with the `openssl` tool and
/// protect nothing.
enum KeyFixtures {
    static let password = "sesame"

    /// An RSA key of 1024 bits, which is too weak.
    static let rsa1024Certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBzTCCATagAwIBAgIBAzANBgkqhkiG9w0BAQsFADAPMQ0wCwYDVQQDDARXZWFr
        MCAXDTI1MDEwMTAwMDAwMFoYDzIxMjUwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDARX
        ZWFrMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDM8u6QoDgLFxXjY45LL0n6
        FJ3QqGzq9GKB6czc0BoWxAZeSvmtdi9aX2gA0Q2avkmPpkNp52VQnmG1YtdSaLrT
        q2u14k3QUItKnRXiN3feLbxluhuOuAj3U6i4TJMfxgy3EZUiLZCmARlFAlx3VLoS
        fMNLy6uHFJudvtN4aET0kwIDAQABozcwNTAUBgNVHREEDTALgglsb2NhbGhvc3Qw
        HQYDVR0OBBYEFHyCSN28+PqbcFV8lfG6uODKeaSEMA0GCSqGSIb3DQEBCwUAA4GB
        AHnTdkNGNLF2ZRiwquSZd6D096A4tHc2VLdhK6RkQPGg7TGqV0loh9uk6CjB8SoR
        7kQc4hn6JrSgRUXM7yCrwzOOBMeJgjDN2urf1pqPVKMH82GJHTnzRfOpc6PALMP6
        3QpBwOJfYitq+Vu6ctm6t+llGfm2G2FUYMOi3bRAb0St
        -----END CERTIFICATE-----

        """
    static let rsa1024Key = """
        -----BEGIN PRIVATE KEY-----
        MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAMzy7pCgOAsXFeNj
        jksvSfoUndCobOr0YoHpzNzQGhbEBl5K+a12L1pfaADRDZq+SY+mQ2nnZVCeYbVi
        11JoutOra7XiTdBQi0qdFeI3d94tvGW6G464CPdTqLhMkx/GDLcRlSItkKYBGUUC
        XHdUuhJ8w0vLq4cUm52+03hoRPSTAgMBAAECgYAkZdR2fO3XEl+BxbGEqr5Rmo24
        e+D0DTjdZ59Ja+/mMSQMZPZYlw+r1hvLYVUwMTExQM7iJQU6PxaNNyOUcCMVmQp8
        qka4TU7730P+6z6nlLU7eP5a3RmPGUJLWnFMMY+qA+/f8/G83f1Pw6tNqOe/+v3B
        jVeulrzJpGjp1ChwcQJBAOxw/PCDgG0UFEjC825DVqvWegldKhQ9MVbYvwAWBwzy
        tTNc7jpKTFGb3NoWFx8mwx5cIPcycvPcaDN0eMWW5NsCQQDd5wsZ4PRHVri7e8YA
        fPDVZTOs1RhZ4ijyd1IIT9EcQh0QCmlm9BI1K/FXNfXWN9AzAztj2nO7JMYXYQ+U
        jaCpAkEAqSC9XdHC6MOnKtEAzkuu0KZPjyksM2P+ShAquAYJrxJh2UbNRbbl1q52
        ES4iBe91PN9L2Wcl4Rg1FTFoPnaMZwJAJ7ae3P3OminiG+O19wZlT7ux+N+WYRfB
        vksuikBGq2kFrIZAgOVzkMKRicsleTY587dDXMaO6dJWBX8ge7SxKQJAPrrRi8DM
        PfO3q541IUJaBQB4IJJ+gMN2M9MXsFI1Q4hAx8r+pVn5H48g/pbI1+uSwVOStCqg
        1ksLEDA1qpNNoA==
        -----END PRIVATE KEY-----

        """
    /// An RSA key of 2048 bits, for `localhost`.
    static let rsa2048Certificate = """
        -----BEGIN CERTIFICATE-----
        MIIC3DCCAcSgAwIBAgIBATANBgkqhkiG9w0BAQsFADAUMRIwEAYDVQQDDAlsb2Nh
        bGhvc3QwIBcNMjUwMTAxMDAwMDAwWhgPMjEyNTAxMDEwMDAwMDBaMBQxEjAQBgNV
        BAMMCWxvY2FsaG9zdDCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBANLA
        Ububnh2vSk/w2GsGtZqN7/iXXp7Nd0rfHYH1pf1RAuxTPLzboQawIuu+960kDOFc
        gf0sZQ7FZcm0ulsgUpguYxGQ068hyzeY1ca+ETqiESTNidIJ/DDsBbnIVjJTFTYg
        07gJn0QcDXi13tLCmttlGSWCbSPwPzjfJju9sVMizptpp55s+Etk1yWLHU6RRCBL
        Rs6oI4/Lex+ahtGHYdIAl7zEIuDBv8no/Coao3EUtMclkFrc9k/OaXRnRwV76BFS
        ABZx7csPfqEQBp95zc8wMiovCiJFKtakaei38GigxkzAZSQnGpqdJ2vLO4jlJdfM
        JyMkxo+qhrJxQbjT/UcCAwEAAaM3MDUwFAYDVR0RBA0wC4IJbG9jYWxob3N0MB0G
        A1UdDgQWBBS++DPDgsvYNen+GqcA2YgKkQzCfjANBgkqhkiG9w0BAQsFAAOCAQEA
        xMnGOKpRLzx/U0NQoTqdt5XrcEKvA4jNMXdxio07N018WWPbgNbbyIT9vak/ZgYj
        y6y8/mnJ0Czr/6XOHfCJrxfmywegUCRuqa6VGIv3ubCFTb73qBDa13N0HpmJn1BP
        N8tpLExDa4CpNER1lIIqcMg9LSUBXh3mB9qS264nVHnABt2dPQjSNa4sSZvKcxQW
        9QsiHOQL3qjlRrY/4NNlsHRalrFwtkX/4YNxnv17Db8d6HW+fSkBYCsKHAbe6++R
        Kj2/Ph1rIob5k9O/EvAtn7iJMFL5AZCOvT5gWuGIMQjohewgJNzZOTMaKOnoYGcj
        vxNaMnKiwn8bjtdpPtdamA==
        -----END CERTIFICATE-----

        """
    static let rsa2048Key = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDSwFG7m54dr0pP
        8NhrBrWaje/4l16ezXdK3x2B9aX9UQLsUzy826EGsCLrvvetJAzhXIH9LGUOxWXJ
        tLpbIFKYLmMRkNOvIcs3mNXGvhE6ohEkzYnSCfww7AW5yFYyUxU2INO4CZ9EHA14
        td7SwprbZRklgm0j8D843yY7vbFTIs6baaeebPhLZNclix1OkUQgS0bOqCOPy3sf
        mobRh2HSAJe8xCLgwb/J6PwqGqNxFLTHJZBa3PZPzml0Z0cFe+gRUgAWce3LD36h
        EAafec3PMDIqLwoiRSrWpGnot/BooMZMwGUkJxqanSdryzuI5SXXzCcjJMaPqoay
        cUG40/1HAgMBAAECggEAUq8BYgl7z0mmbhaf0d2gAjMNowpAJS2XT9iZSxOFPA08
        iFtfyPiiBG22Rad2pIcwRnp0xU9VlqX7eVdehcH4pZwNYibf5iXsBLQBqyeGuuo6
        r6W0HKOuPcNbu7fNmZDfEY1vgxTDV4VqA6HW+fk/qDPR2dWB3Ee1hiqGZYnWuDaJ
        c2lY9IjJUuQi2J6rvX77F65Ut4SdrOJuyM7rYCJXbEtDhcb7eLv8GryeaDtHXeo/
        kJgCSzCH7lAp1ZYBBly2ZBwfCb9HPgOFH8JHo+qnhxt2NY6sDY7gJrQqjr93J3gI
        KUWBPOOrTC5DWlOKI7tkYSl735mgQLdJq+MvmRgGAQKBgQDqwaDen5ABuJTPuJOr
        nLBoWQxeCVWk/9Kj4wBcJuxA40ymXdaGKHj3G6DRMYceQikPw3eJEKr/Cr2n5ro7
        2gdfErox/6R8D10EUd+YsjIIG/snMZs32eJ9peAnxvPOb1eWRo5x0NkCNv4/znWZ
        9r2iulISKCcWcj4195afm+e0twKBgQDl0pZ7RtnMZrYBZ4kA8koSgyEny+uIbJsN
        7NByhYLW3r7vxHV8OZBsDw0iesoqSfxlgPnT9l+noTio9qiEb4AJizuJh8PgUQQr
        QyrwfmHxfabP3AN6EP+c4tMPmpPOHH/91KzT6zs3S6FMhvakXbBF0VnuqEIHybbE
        CKAN/4kL8QKBgHftQwl36lF2wk77tDTPby9fjnnbuuz349vlc6GgIMFlXRsAhT80
        HdffPWChNK24jtGGweI7qZ9xFUJZFHrO/0UKhCRWvOjD0HkMenW/Ut/hq4RySyFV
        JeeafdDUSmkDaHNUyCBM2Q/QmEJwbpOhAW/IT3UHHjDRXAal3UTcmJoxAoGAd4yL
        AMeDRkNri+F6sAZZJ7YUiioWdFnicmTsrZXr0K//7KNqZdtf2AYgU/5Bqavg4kAs
        NOllKsK/wYzFbla96LkHmGwKJWafX43KCV4EvuUY3+lX2ah7/vUyy1wiZMYIglae
        LIKhxArQdgmCxU+DAV58hJv79SclrmW6NG3nsVECgYBCAGxSgUCZNSMdm3KespeK
        YggSR0oyD3SXM0Tf1x+IlhJjqv8yedqZp9mqAp99lny2sCP0+X18xZMufhdNUhmY
        G0nBf9yQVBvQbgN1ViY8wwUZ6Sa8lsIHAVglLD8EEM0YT46buFoDBEsX5blcmLaA
        u+04YRGWFoisujaqhIk0NQ==
        -----END PRIVATE KEY-----

        """
    /// Valid keys that are not usable for ES256.
    static let p384Key = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDKzDr4OP3EglYrxmRv
        mceP30RLXXKPIu+jdzZoE6BuIqSJRij0ubo8JzLRbEZ7xaihZANiAATMZE2LOwvH
        sU+QSd3Y6i6/WQNkuHUhFr2EqAYHwuB6J/RjQwc3Dmjp8K0JuQ4xkXbojG16QXxP
        CSxBmFLKroIh8K9hZoZVT6OxeVSzDfbxHjq/qtOzOVnEzh6M3o0MFQ4=
        -----END PRIVATE KEY-----

        """
    static let ed25519Key = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIPSBFq30iEpsK46Gd6yOtBSKuDGWJLpPHanMPlASnPjt
        -----END PRIVATE KEY-----

        """
    /// One P-256 key in all common forms. The password is `sesame`.
    static let p256Certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBjzCCATagAwIBAgIBAjAKBggqhkjOPQQDAjA0MRAwDgYDVQQDDAdGaXh0dXJl
        MSAwHgYKCZImiZPyLGQBAQwQY29tLmV4YW1wbGUuc2hvcDAgFw0yNTAxMDEwMDAw
        MDBaGA8yMTI1MDEwMTAwMDAwMFowNDEQMA4GA1UEAwwHRml4dHVyZTEgMB4GCgmS
        JomT8ixkAQEMEGNvbS5leGFtcGxlLnNob3AwWTATBgcqhkjOPQIBBggqhkjOPQMB
        BwNCAATgCd+WHVkQ0BckJaMsBq3W0w74DC4gtBdlwvoeGDllzmgWxdT0WRLSazxZ
        q81dD4I9r0uruMLgzEIq1aa3cNPsozcwNTAUBgNVHREEDTALgglsb2NhbGhvc3Qw
        HQYDVR0OBBYEFOG96VuiXulJj/8okFkt8rGY8kswMAoGCCqGSM49BAMCA0cAMEQC
        ICjT7+cIA6gkjDxLPBbBLnmfVlPVB7XB+nyhcixGTX01AiB6mosd1iZfeTthk7X3
        ax9xfsqTnn1/zF5EkqxtSvKAnA==
        -----END CERTIFICATE-----

        """
    static let p256Key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnLwT6RYRqEpyUW0Z
        +gvRD7WfWFsexaJJ94MfQ5GlAiahRANCAATgCd+WHVkQ0BckJaMsBq3W0w74DC4g
        tBdlwvoeGDllzmgWxdT0WRLSazxZq81dD4I9r0uruMLgzEIq1aa3cNPs
        -----END PRIVATE KEY-----

        """
    static let p256PublicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4Anflh1ZENAXJCWjLAat1tMO+Awu
        ILQXZcL6Hhg5Zc5oFsXU9FkS0ms8WavNXQ+CPa9Lq7jC4MxCKtWmt3DT7A==
        -----END PUBLIC KEY-----

        """
    static let p256KeyWithParameters = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIJy8E+kWEahKclFtGfoL0Q+1n1hbHsWiSfeDH0ORpQImoAoGCCqGSM49
        AwEHoUQDQgAE4Anflh1ZENAXJCWjLAat1tMO+AwuILQXZcL6Hhg5Zc5oFsXU9FkS
        0ms8WavNXQ+CPa9Lq7jC4MxCKtWmt3DT7A==
        -----END EC PRIVATE KEY-----

        """
    static let p256KeyEncrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhxlKtMj/pPEQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAPRyDdQV00IFPZaLrYAbr8EgZBD
        odqPXZSPz3nYniKE2hdaZVz2ik5g/vsg8MZYm17yAN1xaGKlf1D7WzuzdlqRTuN5
        ZiLDLY80n+cMqyMw16Mpza/tFKobIU/aFbeCniYBtwXYVcJ+eacVYtkr3Gg7x9Gb
        6knVDN0OpyB/B/EJvOz9jJHcIWVF6gPMkmZgf1Jm5GOm6g+X1a6E0d28QzNV/ZU=
        -----END ENCRYPTED PRIVATE KEY-----

        """
    static let p256KeyEncryptedTraditionally = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,77B10BA5F87AA9D899C6B021E7FF6FA1

        F3k1FrYVfTJDme55GHZICrJfja0qHni+FKB0l7z0dL9ncITXcM3ef52OHuewUVq2
        FmcNwwzUyobSdHwc7ns0y1CB3WzUFkc+hBAHb+ShoMyH/TPQB6YDBGAzumUWqxWh
        13BP5plXw1ejljUQ/ayCQHROPUqfbybF1gP7ALCf8fA=
        -----END EC PRIVATE KEY-----

        """
}
