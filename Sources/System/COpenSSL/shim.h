#ifndef CARILLON_COPENSSL_SHIM_H
#define CARILLON_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* Wrappers of what Swift cannot import: macros with arguments, and variadic functions. */

static inline int COpenSSL_CTX_set_min_version(SSL_CTX *ctx, int version)
{
    return (int)SSL_CTX_set_min_proto_version(ctx, version);
}

static inline int COpenSSL_CTX_set_max_version(SSL_CTX *ctx, int version)
{
    return (int)SSL_CTX_set_max_proto_version(ctx, version);
}

static inline void COpenSSL_CTX_set_mode(SSL_CTX *ctx, long mode)
{
    SSL_CTX_set_mode(ctx, mode);
}

static inline void COpenSSL_CTX_clear_mode(SSL_CTX *ctx, long mode)
{
    SSL_CTX_clear_mode(ctx, mode);
}

static inline void COpenSSL_CTX_set_read_ahead(SSL_CTX *ctx, int on)
{
    SSL_CTX_set_read_ahead(ctx, on);
}

static inline void COpenSSL_CTX_set_session_cache_mode(SSL_CTX *ctx, long mode)
{
    SSL_CTX_set_session_cache_mode(ctx, mode);
}

/* The context retains the certificate; the caller keeps its own reference. */
static inline int COpenSSL_CTX_add1_chain_certificate(SSL_CTX *ctx, X509 *certificate)
{
    return (int)SSL_CTX_add1_chain_cert(ctx, certificate);
}

static inline void COpenSSL_CTX_forbid_renegotiation_and_compression(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

static inline int COpenSSL_set_server_name(SSL *ssl, const char *name)
{
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline int COpenSSL_new_ssl_index(void)
{
    return SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

/* Parameters point to their names, which must live until the call; string literals in C do. */
static inline int COpenSSL_begin_hmac_sha256(EVP_MAC_CTX *context, const unsigned char *key, size_t length)
{
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0), OSSL_PARAM_construct_end()
    };
    return EVP_MAC_init(context, key, length, parameters);
}

/* SHA-256 without the look-ups of EVP, which cost more than a short text. OpenSSL calls these functions deprecated. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int COpenSSL_sha256_begin(SHA256_CTX *context)
{
    return SHA256_Init(context);
}

static inline int COpenSSL_sha256_update(SHA256_CTX *context, const void *bytes, size_t length)
{
    return SHA256_Update(context, bytes, length);
}

static inline int COpenSSL_sha256_finish(SHA256_CTX *context, unsigned char *digest)
{
    return SHA256_Final(digest, context);
}
#pragma GCC diagnostic pop

/* Returns the content of a memory BIO, which is valid until the BIO changes. */
static inline long COpenSSL_memory(BIO *bio, char **data)
{
    return BIO_get_mem_data(bio, data);
}

/* Returns the flags for names in the form of RFC 2253, but with unescaped UTF-8. */
static inline unsigned long COpenSSL_name_flags(void)
{
    return XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
}

static inline EVP_PKEY *COpenSSL_make_p256_key(void)
{
    return EVP_EC_gen("P-256");
}

/* Whether an error reason means that no provider has the algorithm. */
static inline int COpenSSL_is_unsupported(int reason)
{
    return reason == ERR_R_UNSUPPORTED || reason == EVP_R_UNSUPPORTED_ALGORITHM;
}

#endif
